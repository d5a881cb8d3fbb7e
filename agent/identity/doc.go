// Package identity keeps SOUL.md, USER.md and TOOLS.md, the files in which the
// person writes who their assistant is. The file is the truth; every state it
// has had, through the page or an outside editor, is kept as a version.
package identity
