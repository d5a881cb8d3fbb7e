package policy

import (
	"maps"
	"slices"
	"strings"

	"ash/agent"
)

// SourceKind is what sort of place untrusted content came from. A grant covers further sources of the
// kinds it was given for, and no others.
type SourceKind string

// The kinds that sources are written in. Any other source is a kind of its own.
const (
	KindPage       SourceKind = "page"
	KindSearch     SourceKind = "search"
	KindFile       SourceKind = "file"
	KindMail       SourceKind = "mail"
	KindAttachment SourceKind = "attachment"
	KindNetwork    SourceKind = "network" // a host that a command reached
	KindTool       SourceKind = "tool"
)

// prefixes says how sources of a kind begin.
var prefixes = [...]struct {
	begin string
	kind  SourceKind
}{
	{"file:", KindFile},
	{"files in ", KindFile},
	{"names in ", KindFile},
	{"names of files", KindFile},
	{"network:", KindNetwork},
	{"search:", KindSearch},
	{"mail:", KindMail},
	{"attachment:", KindAttachment},
	{"tool:", KindTool},
	{"result of ", KindTool},
}

// KindOf returns the kind of an untrusted source.
func KindOf(source string) SourceKind {
	for _, p := range prefixes {
		if rest, ok := strings.CutPrefix(source, p.begin); ok {
			if p.kind == KindTool {
				return SourceKind("tool:" + rest) // each tool speaks for other strangers
			}
			return p.kind
		}
	}
	if isHost(source) {
		return KindPage
	}
	return SourceKind("other:" + source)
}

// untrusted returns the names of all untrusted sources in what stood before the model, sorted. Labels are taken
// from the contents themselves as well, so that a union that forgot one does not matter.
func untrusted(s agent.Situation) []string {
	all := map[string]bool{} // every call names all that came before it
	add := func(labels agent.Labels) {
		for _, l := range labels {
			if l.Kind != agent.LabelUntrusted {
				continue
			}
			if l.Source == "" {
				l.Source = "an unknown source"
			}
			all[l.Source] = true
		}
	}
	add(s.Labels)
	for i, m := range s.Path {
		for _, p := range m.Parts {
			add(p.PartLabels())
		}
		for _, c := range before(s, i) {
			add(c.Labels)
			for _, p := range c.Result {
				add(p.PartLabels())
			}
			if len(c.Findings) > 0 && !c.Labels.Untrusted() {
				all["tool:"+c.Name] = true
			}
		}
	}
	for _, x := range s.Summaries {
		add(x.Labels)
	}
	return slices.Sorted(maps.Keys(all))
}

// before returns the calls of the i-th message of a path whose results stood before the model. Those of the reply that asks, and of
// those that began the helpers, did not: whatever has ended since, the model had not read it.
func before(s agent.Situation, i int) []agent.ToolCall {
	if i+1 == len(s.Path) || s.Path[i+1].Thread != s.Path[i].Thread {
		return nil
	}
	return s.Path[i].Calls
}

// covers reports whether a grant that names granted was given in view of all of sources.
func covers(granted, sources []string) bool {
	for _, s := range sources {
		if !slices.Contains(granted, s) && !slices.ContainsFunc(granted, func(g string) bool { return KindOf(g) == KindOf(s) }) {
			return false
		}
	}
	return true
}

// the web, as a source of the grant that reads it.
const (
	anyPage   = "*" // KindOf takes it for a page
	anySearch = "search:"
)

// isHost reports whether source is written like a host name or an IP address, perhaps with a port. A single word
// is none: every word could be a file's name.
func isHost(source string) bool {
	if source == anyPage {
		return true
	}
	host := source
	if i := strings.LastIndexByte(host, ':'); i >= 0 && strings.Count(host, ":") == 1 {
		if host = source[:i]; !digits(source[i+1:]) {
			return false
		}
	}
	if inner, ok := strings.CutPrefix(host, "["); ok && strings.Contains(inner, ":") {
		return strings.Trim(inner, "0123456789abcdef:.]") == ""
	}
	if host == "localhost" {
		return true
	}
	labels := strings.Split(host, ".")
	if len(labels) < 2 || len(host) > 253 {
		return false
	}
	return !slices.ContainsFunc(labels, func(l string) bool {
		return l == "" || len(l) > 63 || strings.Trim(l, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != ""
	})
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
