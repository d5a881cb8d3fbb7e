package store

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"

	"github.com/uptrace/bun"

	"ash/agent/memory/archive"
)

type graveKeyRow struct {
	bun.BaseModel `bun:"table:tombstone_keys,alias:g"`

	ID  string `bun:"id"`
	Key []byte `bun:"key"`
}

// graveKeys are what the hashes of tombstones are made with: this home's own, then those that came with archives of others, so that what was
// forgotten there stays forgotten here. Tombstones of a home have one key each and are never made anew: nobody has their text.
type graveKeys struct {
	own    archive.Key
	others []archive.Key
}

// ownGraveKey is derived from the ledger's key, so that an archive that has it says nothing about the ledger.
func (s *Store) ownGraveKey() archive.Key {
	mac := hmac.New(sha256.New, s.ledgerKey)
	mac.Write([]byte("tombstones"))
	return archive.NewKey(mac.Sum(nil))
}

// loadGraveKeys reads the keys, at start and when some were added.
func (s *Store) loadGraveKeys(ctx context.Context) error {
	keys := &graveKeys{own: s.ownGraveKey()}
	var rows []graveKeyRow
	if err := fixed(s.writer, `SELECT * FROM tombstone_keys WHERE ?1 ORDER BY id`, 1).Scan(ctx, &rows); err != nil {
		return fmt.Errorf("read keys of tombstones: %w", err)
	}
	for _, r := range rows {
		keys.others = append(keys.others, archive.Key{ID: r.ID, Key: r.Key})
	}
	s.graves.Store(keys)
	return nil
}

// Keyed implements memory.Tombstones: HMAC-SHA-256 cut to 16 bytes, by the home's own key, and after it by each other key that
// tombstones here were made with.
func (s *Store) Keyed(text string) []byte {
	keys := s.graves.Load()
	out := keyed(keys.own, text)
	for _, k := range keys.others {
		out = append(out, keyed(k, text)...)
	}
	return out
}

// keyedHere returns the hash by the home's own key alone: the same for ever.
func (s *Store) keyedHere(text string) []byte { return keyed(s.graves.Load().own, text) }

func keyed(k archive.Key, text string) []byte {
	mac := hmac.New(sha256.New, k.Key)
	mac.Write([]byte("tombstone\x00" + text))
	return mac.Sum(nil)[:archive.HashSize:archive.HashSize]
}
