// Package notes keeps the person's Markdown notes: notes/**/*.md under the home, with YAML front matter,
// [[wiki links]] and folders, as Obsidian has them. The file is the truth; rows in the store are what was last read of it.
//
// Invariants:
//
//   - Nothing outside the folder is read or written (os.Root); links, devices and
//     names that begin with a dot are not followed.
//   - A file is written only on Save, Rename (of links to the renamed note) and Restore, by temp file, fsync, rename, folder fsync, and only when it is
//     still what the caller last saw. Delete moves it to .trash, from where Restore brings it back.
//   - Whatever is in a file, the note stays: broken front matter, text that is not UTF-8 and excess length are shown as its
//     Problem, and what can be read of it is found by recall.
//   - Every Read compares the file with its row, so nothing depends on the watcher.
//   - Notes are the person's own, except those Ash wrote from labelled content and those below imported folders. Such labels stay on a
//     note however it is edited, and follow its content to another path, until the person vouches for it. The
//     record of them is durable before the text is.
//
// Recall takes up the rows that are Stale: Folder.Passages gives what to index, Rows.NoteIndexed says that it was done. A row
// that goes takes its passages along in the same transaction.
package notes
