// Package notes keeps the person's Markdown notes: notes/**/*.md under the home, with YAML front matter,
// [[wiki links]] and folders, as Obsidian has them. The file is the truth; rows in the store are what was last read of it.
//
// Invariants:
//
//   - Nothing outside the folder is read or written (os.Root); links, devices and names that begin with a dot are not followed, nor
//     is a folder that is a link, so that a note has one path. New names beside which there is one that differs only in case or in how its
//     letters are put together are refused.
//   - A file is written only on Save, Rename (of links to the renamed note) and Restore, by temp file, fsync, rename, folder fsync, and only when it is
//     still what the caller last saw, looked at once more before the rename. Delete moves it to .trash, from where Restore brings it back.
//   - Whatever is in a file, the note stays: broken front matter, text that is not UTF-8 and excess length are shown as its
//     Problem, and what can be read of it is found by recall. At most MaxText bytes of a file are held; the rest is only hashed.
//   - Every Read compares the file with its row, so nothing depends on the watcher. It watches folders, in the background; where there are
//     more than the system or MaxWatched grants it watches none and says so once, and everything is looked at from time to time.
//   - A note is the person's own when they wrote it here, vouched for it as it is, or declared its folder theirs. What another program
//     wrote is untrusted otherwise, and so is, even in a folder of theirs, what Suspect says speaks to the assistant. What Ash wrote from labelled content, and
//     what lies below imported folders, bears those labels however it is edited and wherever its content is moved or copied, until the
//     person vouches for it. The record of them is durable before the text is.
//
// Recall takes up the rows that are Stale: Folder.Passages gives what to index. A row that goes takes its passages along in the
// same transaction.
package notes
