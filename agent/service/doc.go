// Package service writes what starts Ash by itself when a person signs in: a
// systemd user unit on Linux, a launchd agent on macOS. It only makes the text and
// names the place; cmd/ash writes it and speaks to systemctl and launchctl.
//
// Invariants:
//
//   - Any path that a file system allows comes through whole: spaces, quotes, percent
//     signs, backslashes, dollar signs. One with a line end or a NUL is refused, for no
//     unit can hold it.
//   - Nothing secret stands in the file: no key, no variable of the environment.
//   - The hardening still lets Ash reach the Docker socket, its home, and the folders
//     the person gave it.
package service
