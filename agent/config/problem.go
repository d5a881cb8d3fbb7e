package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"ash/agent"
)

// Problem is one thing wrong with the settings.
type Problem struct {
	Source  string // path of the file, name of the variable, or the flag
	Line    int    // in the file; 0 where there is none
	Key     string // canonical; "" when the file cannot be read as TOML at all
	Text    string // what is wrong, without a full stop
	Allowed string // what may be written instead; "" when nothing may
}

// String returns the problem as one line: where, what, and what is allowed.
func (p Problem) String() string {
	where := p.Source
	if p.Line > 0 {
		where += ":" + strconv.Itoa(p.Line)
	}
	text := p.Text
	if p.Key != "" {
		text = p.Key + ": " + text
	}
	if p.Allowed != "" {
		text += "; allowed: " + p.Allowed
	}
	return where + ": " + text
}

// Problems is everything wrong with the settings; errors.As finds it behind the
// *agent.Error that Load returns.
type Problems []Problem

// Error implements error.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

const maxProblems = 20 // shown to a person

// err returns the problems as an error for a person, nil when there are none.
func (p Problems) err() error {
	if len(p) == 0 {
		return nil
	}
	head, shownOnes, tail := "There is a problem with the settings.", p, ""
	if len(p) > 1 {
		head = fmt.Sprintf("There are %d problems with the settings.", len(p))
	}
	if len(p) > maxProblems {
		shownOnes, tail = p[:maxProblems], fmt.Sprintf("\nand %d more", len(p)-maxProblems)
	}
	return agent.Wrap(agent.CodeInvalid, p, "%s\n%s%s", head, shownOnes.Error(), tail)
}

// unknown makes the error for a key that does not exist.
func (s *schema) unknown(key string) error {
	return agent.Errorf(agent.CodeNotFound, "There is no setting %s%s.", shown(key), didYouMean(s.suggest(key)))
}

// suggest returns the existing key that key was probably meant to be, or "".
func (s *schema) suggest(key string) string {
	head, rest, _ := strings.Cut(key, ".")
	leaf := rest[strings.LastIndexByte(rest, '.')+1:]
	if rest == "" {
		leaf = head
	}
	var names, same []string
	for _, sec := range s.sections {
		for _, f := range sec.fields {
			name := f.Name
			if sec.shape != plain && sec.name == head && strings.Contains(rest, ".") {
				name = key[:strings.LastIndexByte(key, '.')+1] + f.leaf
			}
			names = append(names, name)
			if f.leaf == leaf && sec.shape == plain {
				same = append(same, f.Name)
			}
		}
	}
	if near := nearest(key, names); near != "" {
		return near
	}
	// The right key in the wrong section.
	if len(same) == 1 {
		return same[0]
	}
	return ""
}

func didYouMean(name string) string {
	if name == "" {
		return ""
	}
	return "; did you mean " + name + "?"
}

// nearest returns the candidate that word is a slip of the hand away from, or "".
func nearest(word string, candidates []string) string {
	if len(word) > 100 {
		return "" // nobody meant that, and the comparison is quadratic
	}
	limit := min(max(len(word)/4, 1), 3)
	best := ""
	for _, c := range candidates {
		if d := distance(strings.ToLower(word), strings.ToLower(c)); d <= limit {
			best, limit = c, d-1
		}
	}
	return best
}

// distance is the number of insertions, deletions, substitutions and swaps of
// neighbours that make b of a (optimal string alignment).
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

// shown returns a foreign text for a message: quoted, short, without control
// characters, and without its middle when it looks like a key.
func shown(s string) string {
	const most = 60 // bytes
	if looksSecret(s) {
		return "“…” (hidden, as it looks like a key)"
	}
	clean := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return '·'
		}
		return r
	}, strings.ToValidUTF8(s, "·"))
	if len(clean) > most {
		runes := []rune(clean)
		clean = string(runes[:min(len(runes), most)]) + "…"
	}
	return "“" + clean + "”"
}

// looksSecret reports whether s has the shape of an API key: one of the usual
// beginnings, or a long run of letters and digits mixed.
func looksSecret(s string) bool {
	beginnings := []string{"sk-", "sk_", "gsk_", "xai-", "AIza", "ghp_", "hf_", "AKIA", "Bearer "}
	if slices.ContainsFunc(beginnings, func(b string) bool { return strings.HasPrefix(s, b) }) {
		return true
	}
	if len(s) < 24 || strings.ContainsAny(s, " ./:,") {
		return false
	}
	return strings.ContainsAny(s, "0123456789") && strings.IndexFunc(s, unicode.IsLetter) >= 0
}

// bareOrShown returns a part of an unknown key for a message.
func bareOrShown(part string) string {
	if len(part) <= 60 && !looksSecret(part) && strings.IndexFunc(part, notBare) < 0 && part != "" {
		return part
	}
	return shown(part)
}
