// Package identity keeps SOUL.md, USER.md and TOOLS.md, the files in which the
// person writes who their assistant is. The file is the truth; every state it
// has had, through the page or an outside editor, is kept as a version.
//
// Invariants:
//
//   - A file is written only on first start (when no version of it exists), on
//     Save and on Restore; always by temp file, fsync, rename, directory fsync.
//   - A file deleted outside stays deleted: it counts as empty until the person
//     restores a version or writes anew.
//   - A file that cannot be used (too large, not UTF-8, a link, a folder) does not
//     stop the conversation: the last good version speaks for it, and Document.Problem says why.
//   - Every read compares the file with what was last seen, so nothing depends
//     on the file watcher; it only makes changes visible sooner.
//
// The store implements Versions; prompt reads System; the page does the rest.
package identity
