// Package config reads and edits config.toml, the one place for settings.
//
// Every key is declared once, as a field of [Config] with its type, default,
// bounds and documentation in the field's tag. The annotated example
// ([Example]), the table of keys ([Keys]), validation, the names of environment
// variables and the Settings page are all made from that declaration.
//
// Layers, weakest first: the defaults, the file, the environment
// (ASH_SERVER_LISTEN for server.listen), flags. [Snapshot] knows of every value
// which layer it came from, and a key that the environment or a flag decides is
// not saved to the file, where it would have no effect.
//
// Invariants:
//   - A file with any wrong key or value is refused as a whole, with all its
//     problems named by file, line, key and what is allowed.
//   - An edit replaces the bytes of the values it changes and nothing else:
//     comments, order, formatting and line endings stay. What an edit would
//     write is parsed and validated before it is written.
//   - Writes are atomic and durable (temporary file, fsync, rename, fsync of
//     the folder), 0600, under a lock that other processes honour too.
//   - The file holds no secrets: only the names of variables and files that do.
//     No message of this package repeats the value of such a key.
//
// The package stands beside the core: it imports agent for the nouns and is
// wired in cmd/ash. It holds no package-level state; [Book] is what a running
// server shares.
package config
