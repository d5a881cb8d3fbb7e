package files

import (
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Bounds on a .gitignore.
const (
	maxIgnoreFile  = 128 << 10 // bytes that are read
	maxIgnoreRules = 2000
	maxPattern     = 512 // bytes of a pattern
)

// skipped are folders that hold nothing a person wrote; they are not looked into unless asked for.
func skipped(name string) bool {
	switch name {
	case ".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv":
		return true
	}
	return false
}

// ignoreRule is one line of a .gitignore (https://git-scm.com/docs/gitignore).
type ignoreRule struct {
	dir     string // folder of the .gitignore, relative to the room
	pattern string
	negated bool
	folders bool // matches folders only
	rooted  bool // matches the path below dir, else the name alone
	literal bool // has no special characters
}

// parseIgnore reads the rules of a .gitignore in dir. What it cannot read it leaves out, as git does.
func parseIgnore(dir string, text []byte) []ignoreRule {
	var rules []ignoreRule
	for line := range strings.Lines(strings.ToValidUTF8(strings.TrimPrefix(string(text), bomUTF8), "\uFFFD")) {
		line = strings.TrimRight(line, "\r\n")
		if trimmed := strings.TrimRight(line, " \t"); strings.HasSuffix(trimmed, `\`) && len(trimmed) < len(line) {
			line = trimmed + " " // an escaped space at the end counts
		} else {
			line = trimmed
		}
		if line == "" || line[0] == '#' || len(line) > maxPattern || len(rules) == maxIgnoreRules {
			continue
		}
		r := ignoreRule{dir: dir}
		if line[0] == '!' {
			r.negated, line = true, line[1:]
		}
		if strings.HasSuffix(line, "/") {
			r.folders, line = true, strings.TrimRight(line, "/")
		}
		r.rooted = strings.Contains(line, "/")
		line = strings.TrimPrefix(line, "/")
		r.literal = !strings.ContainsAny(line, `*?[\`)
		r.pattern = line
		if !r.literal {
			r.pattern = strings.NewReplacer("{", `\{`, "}", `\}`).Replace(line) // not special to git
		}
		if line == "" || !r.literal && !doublestar.ValidatePattern(r.pattern) {
			continue
		}
		rules = append(rules, r)
	}
	return rules
}

// match reports whether the rule speaks about p, which is in its folder or below.
func (r ignoreRule) match(p string, folder bool) bool {
	if r.folders && !folder {
		return false
	}
	subject := path.Base(p)
	if r.rooted {
		subject = p
		if r.dir != "." {
			subject = strings.TrimPrefix(p, r.dir+"/")
		}
	}
	if r.literal {
		return subject == r.pattern
	}
	return doublestar.MatchUnvalidated(r.pattern, subject)
}

// ignored reports whether the last rule that speaks about p says so. Rules are those of all folders above it, outermost first.
func ignored(rules []ignoreRule, p string, folder bool) bool {
	for i := len(rules) - 1; i >= 0; i-- {
		if rules[i].match(p, folder) {
			return !rules[i].negated
		}
	}
	return false
}
