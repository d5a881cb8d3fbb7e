package files

import (
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"ash/agent"
)

// Bounds on names, in bytes: what Linux takes.
const (
	maxPath = 4096
	maxName = 255
)

// checkPath refuses paths that no careful person would type. The error never repeats the path: it
// is about what is wrong with it.
func checkPath(p string) error {
	switch {
	case len(p) > maxPath:
		return agent.Errorf(agent.CodeInvalid, "The path is too long: at most %d bytes.", maxPath)
	case !utf8.ValidString(p):
		return agent.Errorf(agent.CodeInvalid, "The path is not valid UTF-8.")
	}
	for _, r := range p {
		if why := badRune(r); why != "" {
			return agent.Errorf(agent.CodeInvalid, "The path contains %s (U+%04X), which is not used in paths here. Leave it out; a file with such a name must be renamed by a command first.", why, r)
		}
	}
	for name := range strings.SplitSeq(p, "/") {
		if len(name) > maxName {
			return agent.Errorf(agent.CodeInvalid, "A name in the path is too long: at most %d bytes.", maxName)
		}
	}
	return nil
}

// badRune says what is wrong with a character in a path: it breaks lines, cannot be seen, or makes a name
// read differently from what it is.
func badRune(r rune) string {
	switch {
	case r == 0:
		return "a NUL character"
	case r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029':
		return "a line break"
	case unicode.IsControl(r):
		return "a control character"
	case unicode.Is(unicode.Bidi_Control, r):
		return "a character that changes the direction of reading"
	case unicode.Is(unicode.Cf, r) && r != '\u200c' && r != '\u200d': // joiners are part of Persian words and of emoji
		return "an invisible character"
	}
	return ""
}

// checkNewName refuses names for new files and folders that some system cannot hold or reads as something else. Files
// that already have such names can be read and edited.
func checkNewName(name string) error {
	switch {
	case strings.HasPrefix(name, tempPrefix):
		return agent.Errorf(agent.CodeInvalid, "Names that begin with %q are kept for files being written. Choose another name.", tempPrefix)
	case strings.ContainsAny(name, `<>:"|?*\`):
		return agent.Errorf(agent.CodeInvalid, "The name of a new file or folder may hold none of < > : \" | ? * \\, so that it can be used on every system. Separate folders with /.")
	case strings.HasSuffix(name, ".") || strings.HasSuffix(name, " ") || strings.HasPrefix(name, " "):
		return agent.Errorf(agent.CodeInvalid, "The name of a new file or folder may neither begin with a space nor end with a space or a dot.")
	case reserved(name):
		return agent.Errorf(agent.CodeInvalid, "The name %s is reserved on Windows, with any extension. Choose another name.", quote(name))
	}
	return nil
}

// reserved reports whether name is one of a Windows device
// (https://learn.microsoft.com/windows/win32/fileio/naming-a-file).
func reserved(name string) bool {
	stem, _, _ := strings.Cut(strings.ToUpper(name), ".")
	stem = strings.TrimRight(stem, " ")
	switch stem {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$":
		return true
	}
	if len(stem) < 4 || stem[:3] != "COM" && stem[:3] != "LPT" {
		return false
	}
	return slices.Contains([]string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "¹", "²", "³"}, stem[3:])
}

// ofGit reports whether a name is .git in the eyes of any system: other case, trailing dots and spaces,
// the short name of Windows. What is written there (hooks, settings) would run with the person's next git command.
func ofGit(name string) bool {
	name = strings.TrimRight(strings.ToLower(name), ". ")
	name, _, _ = strings.Cut(name, ":")
	name = strings.Map(func(r rune) rune { // ignored by HFS+
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, name)
	return name == ".git" || name == "git~1"
}

// withinGit reports whether a canonical path leads into the store of a repository.
func withinGit(p string) bool {
	return slices.ContainsFunc(strings.Split(p, "/"), ofGit)
}

// slashed brings a path to forward slashes where the system has others.
func slashed(p string) string {
	if runtime.GOOS == "windows" {
		p = strings.ReplaceAll(p, `\`, "/")
	}
	return p
}

// local cleans a path relative to a folder. The error is for one that leads out of it.
func local(p string) (string, error) {
	p = path.Clean(p)
	if p == ".." || strings.HasPrefix(p, "../") || path.IsAbs(p) {
		return "", errOutside()
	}
	return p, nil
}

func errOutside() error {
	return agent.Errorf(agent.CodeDenied, "The path leads out of the folder. Files are named by paths relative to the root, such as notes/plan.md; file_list shows what there is, and which other folders may be used.")
}

// quote shows a name on one line, as it is when that is harmless, escaped otherwise.
func quote(name string) string {
	if name == "" || !utf8.ValidString(name) || strings.HasPrefix(name, `"`) || strings.HasPrefix(name, " ") || strings.HasSuffix(name, " ") ||
		strings.ContainsFunc(name, func(r rune) bool { return badRune(r) != "" || !unicode.IsPrint(r) && r != '\u200c' && r != '\u200d' }) {
		return strconv.Quote(name)
	}
	return name
}
