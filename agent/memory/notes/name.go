package notes

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"ash/agent"
)

// Bounds of a path, in bytes; maxDepth in folders. A name is read as long as file systems have them, and made only
// as long as leaves room for what other programs append.
const (
	maxPath  = 800
	maxName  = 255
	newName  = 200
	maxDepth = 20
)

const extension = ".md"

// reserved are names that Windows keeps for devices, also with an extension.
var reserved = []string{"con", "prn", "aux", "nul", "conin$", "conout$", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9",
	"lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9"}

// Path returns the path of a note that a person or model named, ".md" added where it lacks: what may be created anywhere and
// carried to any system. CodeInvalid says what is wrong with it.
func Path(name string) (string, error) {
	name = norm.NFC.String(strings.TrimSpace(name))
	if !strings.EqualFold(path.Ext(name), extension) {
		name += extension
	}
	return name, checkNew(name)
}

// checkNew refuses names that must not be created.
func checkNew(name string) error {
	if err := checkPath(name); err != nil {
		return err
	}
	for part := range strings.SplitSeq(name, "/") {
		stem, _, _ := strings.Cut(strings.ToLower(part), ".")
		switch {
		case len(part) > newName:
			return agent.Errorf(agent.CodeInvalid, "A note's name may have at most %d bytes.", newName)
		case strings.ContainsAny(part, `\:*?"<>|`):
			return agent.Errorf(agent.CodeInvalid, `A note's name may not contain any of \ : * ? " < > |.`)
		case strings.HasSuffix(part, ".") || strings.TrimSpace(part) != part:
			return agent.Errorf(agent.CodeInvalid, "A note's name may not begin or end with a space, nor end with a dot.")
		case slices.Contains(reserved, strings.TrimSpace(stem)):
			return agent.Errorf(agent.CodeInvalid, "%s is a name that some systems keep for devices. Choose another.", part)
		}
	}
	if strings.EqualFold(path.Base(name), extension) {
		return agent.Errorf(agent.CodeInvalid, "A note needs a name.")
	}
	return nil
}

// checkPath refuses what cannot be the path of a note at all, before any file is touched.
func checkPath(name string) error {
	if !readable(name) || !strings.EqualFold(path.Ext(name), extension) {
		return agent.Errorf(agent.CodeInvalid, "%q is no path of a note. Use folder/name.md, without dots in front and without \"..\".", agent.Clip(name, 120))
	}
	return nil
}

// readable reports whether a file or folder of that path is looked at.
func readable(name string) bool {
	if len(name) > maxPath || !fs.ValidPath(name) || name == "." || !utf8.ValidString(name) || strings.Count(name, "/") > maxDepth {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if len(part) > maxName || strings.HasPrefix(part, ".") {
			return false
		}
	}
	return !strings.ContainsFunc(name, deceives)
}

// deceives reports whether a character has no place in a name: it cannot be seen, or turns round what is. The two that join letters
// belong to Persian, to Indian scripts and to emoji.
func deceives(r rune) bool {
	const nonJoiner, joiner = '\u200c', '\u200d'
	return r != nonJoiner && r != joiner && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == utf8.RuneError)
}

// isNote reports whether a path is that of a note.
func isNote(name string) bool { return strings.EqualFold(path.Ext(name), extension) && readable(name) }

// fold is how names of links are compared.
func fold(s string) string { return cases.Fold().String(norm.NFC.String(strings.TrimSpace(s))) }

// stem is a path without its extension.
func stem(name string) string { return name[:len(name)-len(path.Ext(name))] }
