// Package store keeps conversations in SQLite, through bun. It implements the
// ports of the core (agent/ports.go) and of agent/identity on one type, Store,
// and is the only package that knows SQL, bun or the driver.
//
// Invariants:
//   - Writes go through one connection in immediate transactions with
//     synchronous=FULL: what a method has acknowledged is on the disk. Reads go
//     through a pool of query-only connections and see a snapshot each.
//   - A write transaction never waits for anything but the disk: no network, no
//     model, and no cancellation halfway (a caller who leaves gets no answer,
//     the transaction is whole or absent all the same).
//   - Every noun has a private row struct and two functions to and fro. Times are
//     integers (UTC microseconds, 0 for none), so that they sort, and bun never
//     sees a time.Time. Parts of messages have one JSON codec (parts.go), whose
//     format is for ever.
//   - Statements on the path of a turn have a fixed text and stay prepared on each
//     connection (prepared.go, row.go); all others are built by bun and parsed each time.
//   - Text is cleaned where it enters: NUL bytes and broken UTF-8 become U+FFFD.
//   - Every error that leaves is an *agent.Error (errors.go).
//   - A damaged database is never replaced or repaired silently; on damage, writing
//     is turned off (damage.go).
//
// In the home folder it owns ash.db with its -wal and -shm, ash.db.unclean
// (which says that the last stop was not clean), and backups/. All files
// are 0600, folders 0700.
package store
