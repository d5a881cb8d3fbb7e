// Package access says who may come in besides a browser on this machine: the
// tokens of programs that use the API (Tokens), and the devices that people sign
// in with (Doors): by the owner's passphrase, or paired by a code that a screen
// shows which is signed in already.
//
// What holds for tokens:
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
//
// What holds for doors:
//
//   - The passphrase is kept as argon2id; one is hashed at a time. Wrong ones, and
//     any when none is set, are answered alike and take as long.
//   - An attempt is counted as failed, on the disk, before it is looked at, and
//     taken back when it was right. So neither many at once nor a restart give
//     anybody free guesses (pace says what guesses cost).
//   - A stranger's guesses make strangers wait, never a device that is signed in or
//     was before, nor this machine itself. Pairing does not wait for them either.
//   - Sessions are secrets like tokens: 256 random bits, kept as SHA-256, looked up
//     with each request. They get a new secret now and then; one that was
//     replaced opens nothing, and signing in with it at hand ends the session of
//     whoever has its successor.
//   - A code pairs one device, once, within two minutes, and only when the person
//     says yes on the screen that showed it. Offers and claims live in memory only.
//   - Signing out works from the moment it returns, also for streams (Watch).
package access
