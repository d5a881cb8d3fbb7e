// Package inventory knows what lies in the home of Ash: how much of it there is, how to take all of it away as one
// archive, and how to delete it.
//
// Invariants:
//
//   - Only what the table of places names is Ash's. Anything else in the home is shown, and neither taken along nor deleted.
//   - Links are never followed, neither by counting nor by exporting nor by deleting. A link that stands where Ash keeps something is
//     removed itself; what it leads to stays.
//   - An archive is written as it is read, in bounded memory. The database in it is one consistent copy. What opens doors is
//     not in it: session.key, and in the copy the tokens, devices and the passphrase for signing in, which the [Snapshot] takes out.
//     The vault's files are in it as they lie there, encrypted.
//   - Deleting is decided by a marker on the disk, which is durable before the first file goes and goes last. Whoever takes the
//     home's lock next finishes what a crash broke off.
//
// The package stands beside the core; cmd/ash gives it the paths, the copy of the database and the moment to delete.
package inventory
