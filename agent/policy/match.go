package policy

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"ash/agent"
)

// matchKind tells what a narrow rule is about.
type matchKind string

const (
	matchTool   matchKind = ""
	matchRun    matchKind = "run"
	matchFolder matchKind = "folder"
	matchHost   matchKind = "host"
	matchWeb    matchKind = "web"
)

// match is Rule.Match, read.
type match struct {
	kind   matchKind
	words  []string // run
	more   bool     // run: any further arguments
	folder string   // absolute, clean
	host   string
}

// andMore ends a command rule that allows further arguments.
const andMore = "…"

// parseMatch reads a match. Errors are CodeInvalid.
func parseMatch(text string) (match, error) {
	kind, rest, _ := strings.Cut(text, " ")
	m := match{kind: matchKind(kind)}
	ok := false
	switch m.kind {
	case matchTool, matchWeb:
		ok = rest == ""
	case matchRun:
		m.words, ok = simpleCommand(rest)
		if n := len(m.words); ok && m.words[n-1] == andMore {
			m.words, m.more = m.words[:n-1], true
			ok = n >= 2
		}
	case matchFolder:
		folder, err := strconv.Unquote(rest)
		m.folder = folder
		ok = err == nil && filepath.IsAbs(folder) && filepath.Clean(folder) == folder
	case matchHost:
		m.host = rest
		ok = rest != anyPage && isHost(rest) && strings.ToLower(rest) == rest
	}
	if !ok {
		return match{}, agent.Errorf(agent.CodeInvalid, "%q is not a rule. Write it as: run git status, folder \"/absolute/path\", host example.org, or web.", agent.Clip(text, 200))
	}
	return m, nil
}

// String is the reverse of parseMatch; "" for a command that cannot be written down.
func (m match) String() string {
	switch m.kind {
	case matchRun:
		text, ok := inWriting(m.words)
		if !ok || m.words[len(m.words)-1] == andMore {
			return ""
		}
		if m.more {
			text += " " + andMore
		}
		return "run " + text
	case matchFolder:
		return "folder " + strconv.Quote(m.folder)
	case matchHost:
		return "host " + m.host
	}
	return string(m.kind)
}

// flow reports whether a grant of this kind can cover effects while untrusted content is in the prompt.
func (m match) flow() bool {
	return m.kind == matchFolder || m.kind == matchHost || m.kind == matchWeb
}

// narrowness orders matches: the greater, the fewer calls it is about.
func (m match) narrowness() int {
	switch m.kind {
	case matchRun:
		n := 2*len(m.words) + 2
		if !m.more {
			n++
		}
		return n
	case matchFolder:
		return 2 + strings.Count(m.folder, "/")
	case matchHost:
		return 3
	case matchWeb:
		return 2
	}
	return 0
}

// applies reports whether a rule of this match is about a. A rule that allows is read narrowly, one that does not is read widely.
func (m match) applies(a asked, verdict agent.Verdict) bool {
	allows := verdict == agent.Allow
	switch m.kind {
	case matchTool:
		return !allows || !networked(a.effect) // the switch of a tool gives no network
	case matchRun:
		if a.effect.Kind != agent.EffectExecute || !a.simple || (allows && len(a.effect.Hosts) > 0) || len(a.words) < len(m.words) {
			return false
		}
		if !slices.Equal(a.words[:len(m.words)], m.words) {
			return false
		}
		return len(a.words) == len(m.words) || (m.more && (!allows || harmless(a.words[len(m.words):])))
	case matchFolder:
		return a.effect.Kind == agent.EffectWrite && a.path != "" && below(m.folder, a.path, allows)
	case matchHost:
		return reachesOut(a.effect.Kind) && a.host != "" && a.host == m.host
	case matchWeb:
		return readsWeb(a)
	}
	return false
}

// networked reports whether a command could reach anything outside its sandbox.
func networked(e agent.Effect) bool { return e.Kind == agent.EffectExecute && len(e.Hosts) > 0 }

func reachesOut(k agent.EffectKind) bool { return k == agent.EffectFetch || k == agent.EffectSend }

// The tools that read the web.
const (
	toolSearch = "web_search"
	toolFetch  = "web_fetch"
)

// readsWeb reports whether a call is what "reading the web" means: a page or a search, nothing else that sends.
func readsWeb(a asked) bool {
	switch a.call.Name {
	case toolFetch:
		return a.effect.Kind == agent.EffectFetch
	case toolSearch:
		return reachesOut(a.effect.Kind)
	}
	return false
}

// below reports whether the file at path lies below folder. For a rule that allows, links on the way
// count as where they lead, and nothing hidden below the folder is meant: a hook or a shell's start file is a command in waiting.
func below(folder, path string, allows bool) bool {
	rest, ok := within(folder, path)
	if !allows || !ok {
		return ok
	}
	if hidden(rest) {
		return false
	}
	realFolder, err := resolve(folder)
	if err != nil {
		return false
	}
	realPath, err := resolve(path)
	if err != nil {
		return false
	}
	rest, ok = within(realFolder, realPath)
	return ok && !hidden(rest)
}

func within(folder, path string) (rest string, ok bool) {
	if folder == path {
		return "", false
	}
	return strings.CutPrefix(path, strings.TrimSuffix(folder, string(filepath.Separator))+string(filepath.Separator))
}

func hidden(rest string) bool {
	return slices.ContainsFunc(strings.Split(filepath.ToSlash(rest), "/"), func(name string) bool { return strings.HasPrefix(name, ".") })
}

// resolve follows the links of what exists of path.
func resolve(path string) (string, error) {
	var missing []string
	for at := path; ; {
		real, err := filepath.EvalSymlinks(at)
		if err == nil {
			return filepath.Join(append([]string{real}, missing...)...), nil
		}
		if !isMissing(at) {
			return "", err
		}
		parent := filepath.Dir(at)
		if parent == at {
			return "", err
		}
		missing = append([]string{filepath.Base(at)}, missing...)
		at = parent
	}
}
