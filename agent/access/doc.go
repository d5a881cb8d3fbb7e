// Package access says who may come in besides a browser on this machine: the
// tokens of programs that use the API. (Devices, sessions and the passphrase
// will stand beside them.)
//
// What holds:
//
//   - A token is shown once, when it is made. Kept is its SHA-256. A slow hash
//     such as argon2id is for secrets that people think up; a token is 256
//     random bits, which nobody can guess whatever the hash costs, and every
//     request pays for it.
//   - Whoever is refused does not learn why: unknown, mistyped, expired and
//     revoked tokens are one and the same error. The reason goes to the log,
//     the token never.
//   - A token is looked up in the store with every request, so that revoking it
//     works at once.
//   - Attempts that fail make the address they come from wait, longer each time.
//     A token that has worked since the start is never made to wait: one broken
//     program must not keep the others out.
//   - What is held in memory for that is bounded.
package access
