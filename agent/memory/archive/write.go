package archive

import (
	"archive/zip"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"sort"
	"time"

	"ash/agent"
)

// Format and Version say what an archive of memory is. A reader takes versions up to its own.
const (
	Format  = "ash-memory"
	Version = 1
)

const (
	manifestName = "manifest.json"
	notesFolder  = "notes/"
	dataFolder   = "data/"
)

// The files of data, one for each of Memory's lists.
const (
	factsFile         = dataFolder + "facts.jsonl"
	entitiesFile      = dataFolder + "entities.jsonl"
	conversationsFile = dataFolder + "conversations.jsonl"
	episodesFile      = dataFolder + "episodes.jsonl"
	runsFile          = dataFolder + "runs.jsonl"
	proposalsFile     = dataFolder + "proposals.jsonl"
	tombstonesFile    = dataFolder + "tombstones.jsonl"
	keysFile          = dataFolder + "keys.jsonl"
	recordsFile       = dataFolder + "records.jsonl"
	noteListFile      = dataFolder + "notes.jsonl"
)

type manifest struct {
	Format  string         `json:"format"`
	Version int            `json:"version"`
	Counts  Counts         `json:"counts"`
	Files   []manifestFile `json:"files"`
}

type manifestFile struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Write writes an archive of memory as a zip; the same memory gives the same bytes. open opens the file of a note. Lists of m are put
// in their order.
func Write(w io.Writer, m *Memory, open func(path string) (io.ReadCloser, error)) error {
	m.sort()
	p := packer{zip: zip.NewWriter(w), manifest: manifest{Format: Format, Version: Version, Counts: m.Counts()}}
	for _, page := range pagesOf(m) {
		if err := p.add(page.name, false, bytes.NewReader(page.text)); err != nil {
			return err
		}
	}
	for _, f := range m.dataFiles() {
		if err := p.lines(f.name, f.list); err != nil {
			return err
		}
	}
	for _, n := range m.Notes {
		if err := p.note(n, open); err != nil {
			return err
		}
	}
	text, err := json.MarshalIndent(p.manifest, "", " ")
	if err != nil {
		return err
	}
	if err := p.add(manifestName, false, bytes.NewReader(append(text, '\n'))); err != nil {
		return err
	}
	return p.zip.Close()
}

// sort puts every list in the order it is written in: the same for ever for the same things.
func (m *Memory) sort() {
	byTime := func(a, b time.Time, x, y agent.ID) int { return cmp.Or(a.Compare(b), cmp.Compare(x, y)) }
	ordered(m.Facts, func(a, b agent.Fact) int { return byTime(a.Created, b.Created, a.ID, b.ID) })
	for i := range m.Facts {
		m.Facts[i].Supersedes = nil
		ordered(m.Facts[i].Entities, func(a, b agent.Entity) int { return cmp.Compare(a.ID, b.ID) })
	}
	ordered(m.Entities, func(a, b agent.Entity) int { return cmp.Compare(a.ID, b.ID) })
	for i := range m.Entities {
		slices.Sort(m.Entities[i].Aliases)
	}
	ordered(m.Conversations, func(a, b Conversation) int { return cmp.Compare(a.ID, b.ID) })
	ordered(m.Episodes, func(a, b agent.Episode) int { return cmp.Compare(a.Thread, b.Thread) })
	ordered(m.Runs, func(a, b agent.MemoryRun) int { return byTime(a.Created, b.Created, a.ID, b.ID) })
	ordered(m.Proposals, func(a, b agent.Proposal) int { return byTime(a.Created, b.Created, a.ID, b.ID) })
	ordered(m.Tombstones, func(a, b Tombstone) int { return byTime(a.Created, b.Created, a.ID, b.ID) })
	for i := range m.Tombstones {
		slices.SortFunc(m.Tombstones[i].Hashes, bytes.Compare)
	}
	ordered(m.Keys, func(a, b Key) int { return cmp.Compare(a.ID, b.ID) })
	ordered(m.Records, func(a, b Record) int { return cmp.Compare(a.Path, b.Path) })
	ordered(m.Notes, func(a, b Note) int { return cmp.Compare(a.Path, b.Path) })
}

// ordered puts a list in order, of things of which no two are the same. Package sort has one sorter for lists of everything; slices.SortFunc is compiled anew for each kind
// of thing, 30 KB of program a time.
func ordered[T any](list []T, compare func(a, b T) int) {
	sort.Slice(list, func(i, j int) bool { return compare(list[i], list[j]) < 0 })
}

type dataFile struct {
	name string
	list []any
}

// dataFiles are the lists as JSON forms.
func (m *Memory) dataFiles() []dataFile {
	keys := make([]any, len(m.Keys))
	for i, k := range m.Keys {
		keys[i] = key{k.ID, k.Key}
	}
	records := make([]any, len(m.Records))
	for i, r := range m.Records {
		records[i] = record{r.Path, r.Hash, fromLabels(r.Labels), r.Own}
	}
	return []dataFile{
		{factsFile, forms(m.Facts, FromFact)},
		{entitiesFile, forms(m.Entities, fromEntity)},
		{conversationsFile, forms(m.Conversations, same)},
		{episodesFile, forms(m.Episodes, fromEpisode)},
		{runsFile, forms(m.Runs, fromRun)},
		{proposalsFile, forms(m.Proposals, fromProposal)},
		{tombstonesFile, forms(m.Tombstones, fromTombstone)},
		{keysFile, keys},
		{recordsFile, records},
		{noteListFile, forms(m.Notes, same)},
	}
}

func same[T any](x T) T { return x }

func forms[N, J any](list []N, form func(N) J) []any {
	out := make([]any, len(list))
	for i, x := range list {
		out[i] = form(x)
	}
	return out
}

// packer writes the files of an archive.
type packer struct {
	zip      *zip.Writer
	manifest manifest
}

// beginning is the time of every file in a zip: when something was packed says nothing about what is remembered.
var beginning = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// add writes a file, and lists it in the manifest if it is one that is read back.
func (p *packer) add(name string, listed bool, r io.Reader) error {
	w, err := p.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: beginning})
	if err != nil {
		return err
	}
	hash := sha256.New()
	size, err := io.Copy(io.MultiWriter(w, hash), r)
	if err == nil && listed {
		p.manifest.Files = append(p.manifest.Files, manifestFile{name, size, hex.EncodeToString(hash.Sum(nil))})
	}
	return err
}

func (p *packer) lines(name string, list []any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, x := range list {
		if err := enc.Encode(x); err != nil {
			return err
		}
	}
	return p.add(name, true, &b)
}

func (p *packer) note(n Note, open func(string) (io.ReadCloser, error)) (err error) {
	f, err := open(n.Path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	bounded := &io.LimitedReader{R: f, N: maxNote + 1}
	if err := p.add(notesFolder+n.Path, true, bounded); err != nil {
		return err
	}
	if bounded.N <= 0 {
		return agent.Errorf(agent.CodeInvalid, "The note %s is larger than %d MB and cannot be put into an archive. Move it out of the notes, then try again.", n.Path, maxNote>>20)
	}
	return nil
}
