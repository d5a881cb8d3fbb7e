package archive

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"ash/agent"
)

// Memory is what an archive of memory holds, but the notes' texts. The owner's id is left out of it: what is in an archive is about the
// one who takes it in.
type Memory struct {
	Facts         []agent.Fact // all statuses; without Supersedes, which Successor of others says
	Entities      []agent.Entity
	Conversations []Conversation // those that episodes are of
	Episodes      []agent.Episode
	Runs          []agent.MemoryRun // those that changed something
	Proposals     []agent.Proposal
	Tombstones    []Tombstone
	Keys          []Key // of the tombstones
	Records       []Record
	Notes         []Note
}

// Conversation is what is kept of a thread: its messages are not part of memory's archive.
type Conversation struct {
	ID      agent.ID  `json:"id"`
	Title   string    `json:"title,omitempty"`
	Created time.Time `json:"created,omitzero"`
	Updated time.Time `json:"updated,omitzero"`
}

// Tombstone is an agent.Tombstone with the key its hashes were made with.
type Tombstone struct {
	agent.Tombstone
	Key string // Key.ID
}

// KeySize is the length of a key, in bytes.
const KeySize = 32

// Key is what the hashes of tombstones were made with. Whoever has it can try what was forgotten by guessing; without
// it nobody can, and the tombstones keep nothing out.
type Key struct {
	ID  string
	Key []byte
}

// NewKey names a key by its hash.
func NewKey(key []byte) Key {
	sum := sha256.Sum256(append([]byte("ash tombstone key\x00"), key...))
	return Key{ID: hex.EncodeToString(sum[:8]), Key: key}
}

// Record is what is known of where a note's content came from, as notes.Record.
type Record struct {
	Path   string
	Hash   string
	Labels agent.Labels
	Own    bool
}

// Note is a file below notes/.
type Note struct {
	Path     string    `json:"path"`
	Modified time.Time `json:"modified,omitzero"`
	Hash     string    `json:"-"` // SHA-256 of the file, lower-case hex; filled when an archive is opened
}

// Counts says how much of each there is.
type Counts struct {
	Facts         int `json:"facts"`
	Entities      int `json:"entities"`
	Conversations int `json:"conversations"`
	Episodes      int `json:"episodes"`
	Runs          int `json:"runs"`
	Proposals     int `json:"proposals"`
	Tombstones    int `json:"tombstones"`
	Notes         int `json:"notes"`
}

// Counts counts.
func (m *Memory) Counts() Counts {
	return Counts{
		Facts: len(m.Facts), Entities: len(m.Entities), Conversations: len(m.Conversations), Episodes: len(m.Episodes),
		Runs: len(m.Runs), Proposals: len(m.Proposals), Tombstones: len(m.Tombstones), Notes: len(m.Notes),
	}
}

// ForOthers takes out what tells of forgotten things to one who guesses: the keys of tombstones, and their meanings.
func (m *Memory) ForOthers() {
	m.Keys = nil
	for i := range m.Tombstones {
		m.Tombstones[i].Vector, m.Tombstones[i].Space = nil, ""
	}
}
