package files

import (
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"ash/agent"
)

// Bounds on a glob. Braces multiply: each pair doubles what is tried, at least.
const (
	maxGlob   = 256 // bytes
	maxBraces = 6
)

// glob chooses files by name. The zero value chooses all.
type glob struct {
	pattern string
	paths   bool // it has a slash: it is about the path below the folder looked in, else about the name alone
}

// parseGlob reads a doublestar pattern. CodeInvalid when it is none.
func parseGlob(p string) (glob, error) {
	p = strings.TrimPrefix(strings.TrimPrefix(p, "./"), "/")
	switch {
	case len(p) > maxGlob:
		return glob{}, agent.Errorf(agent.CodeInvalid, "The glob is too long: at most %d bytes.", maxGlob)
	case strings.Count(p, "{") > maxBraces:
		return glob{}, agent.Errorf(agent.CodeInvalid, "The glob has too many {alternatives}: at most %d.", maxBraces)
	case !doublestar.ValidatePattern(p):
		return glob{}, agent.Errorf(agent.CodeInvalid, "The glob cannot be read. Use *, ?, [a-z], {a,b} and ** for any folders, such as *.go or docs/**/*.md.")
	}
	return glob{pattern: p, paths: strings.Contains(p, "/")}, nil
}

// match reports whether p, relative to the folder looked in, is chosen.
func (g glob) match(p string) bool {
	switch {
	case g.pattern == "":
		return true
	case g.paths:
		return doublestar.MatchUnvalidated(g.pattern, p)
	}
	return doublestar.MatchUnvalidated(g.pattern, path.Base(p))
}
