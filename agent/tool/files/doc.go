// Package files gives the assistant the person's files: file_list, file_read,
// file_search, file_write and file_edit, over the thread's own folder (its root) and further folders the
// person added, which are for reading unless she says otherwise.
//
// Paths are relative to the root, with forward slashes; further folders are named by their absolute path. A path is
// first resolved to a canonical one without links (resolve.go), which is what approvals, records and versions name; then
// everything is done through os.Root.
//
// Invariants:
//
//   - Nothing outside a folder is looked at or changed, whatever a path, a link or another process does: each
//     access goes through an os.Root of the folder. Ash's own home is out of reach but for the root in it.
//   - Only ordinary files are opened: a pipe, device or socket is neither waited for nor touched.
//   - A file is replaced whole or not at all: temp file beside it, fsync, rename. Right before the
//     rename it still holds what the change was made for, or the call fails with CodeConflict.
//   - What a file held before, up to MaxVersion, is in the store before the change, so each change can be undone.
//   - No error of Plan contains text out of a file: errors have no labels (threats.md 6).
//   - What is given back bears the labels its exact contents have; what is written is recorded with those of the prompt.
package files
