// Package vault keeps secrets: keys of providers and tools, tokens of plugins, the key of the local certificate authority. Each is an age
// file of its own, bound to the hosts it may go to and the parts of Ash that may use it.
//
// On disk, below ASH_HOME (folders 0700, files 0600):
//
//	vault.lock                one process has the vault at a time
//	vault/vault.json          sentinel: this is a vault, and which; written once
//	vault/current             the root: replacing this one file is every change there is
//	vault/identity-<n>.age    the keys, encrypted to the passphrase (scrypt, work factor 16 or 17)
//	vault/recovery-<n>.age    the keys again, encrypted to the recovery phrase, once there is one
//	vault/index-<n>.age       the list of secrets: names, hosts, users, versions, the SHA-256 of every other file
//	vault/secrets/<n>-….age   one version of one secret; n is the serial of the change that wrote it
//	vault/new/….age           added while locked, taken in at the next unlock
//
// The keys are an X25519 identity of age and a key for HMAC-SHA-256. The recipient alone, which anybody may know, makes files that open; only the HMAC
// key makes files that are believed. The root is proven by it and names keys and index by hash; the index names all secrets by hash.
// Inside each secret's encrypted file stand the vault, its own file name, the name, version, hosts and users again, and must agree.
//
// Invariants:
//
//   - Plaintext never reaches the disk. Names of secrets do not either, except in the access log and wherever settings name them.
//   - Nothing is overwritten: a change writes new files, syncs them, and then replaces the root by rename. So after a crash, a full disk or
//     an error at any instant the vault is as before the change or as after. What was left behind is removed at the next unlock, when
//     the keys prove what belongs to it; before that, nothing is ever removed.
//   - A file that is not, byte for byte, the one that the last change named is refused: flipped, cut, swapped, put back from earlier. A secret's file
//     costs only that secret; root, index, sentinel or keys cost the vault until they are put right. Refusing changes nothing.
//   - Links, other owners, open permissions and a missing sentinel lock the vault, and the error names the command that helps.
//   - Keys are dropped on Lock, Close and after the idle time (also when the machine slept through it), and overwritten, which is best effort.
//   - One scrypt at a time, whoever asks; its memory is given back to the system.
//
// Earlier states. An earlier root names files that are gone; an earlier index, secret or copy of the keys is not the one the root names. An earlier state
// of the whole folder is a vault in itself: it is noticed by the Anchor, which remembers the serial outside, and also when files of later changes were left lying beside it.
// Not noticed: the folder and the anchor's own store put back together; the last change undone when a crash kept the anchor one behind.
// Restoring a backup is told apart from that only by the person: Accept.
//
// Added while locked. Whoever can write to the folder can add there as well, for the recipient is no secret. So such a secret never takes the place of one that is there: it waits for
// Confirm, with the hosts and users of the one that is there. A root whose recipient was replaced is found at the next unlock at
// the latest; with an Anchor before anything is encrypted to it.
//
// The package stands beside the core: ports are Log and Anchor, cmd/ash passes them in.
package vault
