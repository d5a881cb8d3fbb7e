package attachment

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"ash/agent"
)

// maxName is the most bytes a name has.
const maxName = 255

// CleanName makes a claimed file name fit to show and to store: the last element of a path, one
// line, no control characters and no marks that change the direction of reading (they make "exe.png" of "gnp.exe"),
// at most 255 bytes with the extension kept. What is left empty is "file".
func CleanName(name string) string {
	name = strings.ToValidUTF8(name, "")
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	name = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), unicode.Is(unicode.Cf, r) && r != '\u200d', r == utf8.RuneError:
			return -1
		case unicode.IsSpace(r):
			return ' '
		}
		return r
	}, name)
	name = strings.TrimSpace(name)
	if strings.Trim(name, ". ") == "" {
		return "file"
	}
	if len(name) <= maxName {
		return name
	}
	ext := extension(name)
	return agent.Clip(name, maxName-len(ext)) + ext
}

// extension returns the extension with its dot when it is a plausible one.
func extension(name string) string {
	i := strings.LastIndexByte(name, '.')
	if i < 1 || len(name)-i > 16 {
		return ""
	}
	return name[i:]
}
