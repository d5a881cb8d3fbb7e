// Package attachment keeps the files a person adds to a message: pictures,
// text of any kind and PDFs, by content hash, with their text extracted and bounded.
//
// On disk, below the folder given to Open (folders 0700, files 0600):
//
//	ab/abcdef…        the bytes, named by their SHA-256
//	ab/abcdef….json   what was found out about them: media type, size, extracted text
//	.put-…            an upload in progress
//
// Invariants:
//
//   - What lies under a hash has that hash. It is written by temp file, fsync, rename, directory fsync, and checked again on
//     Load. The notes are written before the bytes; where they are missing or damaged they are made anew.
//   - The media type comes from the bytes. It is one of a short list that is safe to serve
//     with nosniff: HTML and SVG are text/plain here.
//   - Nothing of the person's file is changed or stripped.
//   - Every attachment is labelled untrusted, with its name as the source: a file may be from anybody (threats.md 5).
//   - PDFs are foreign input to a large parser. Subprocess reads them in a process of its own, which
//     may die; InProcess bounds time and pages but not memory, for tests and the helper itself.
package attachment
