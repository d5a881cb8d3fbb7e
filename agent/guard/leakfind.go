package guard

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// leak is a secret in a text.
type leak struct {
	Rule   string // its ID
	Match  string // what the rule's expression matched, without line ends around it
	Secret string // a part of Match, or all of it
	line   int    // where the match begins, from 0
}

// catchAll is part of the names of rules that give way to any other that found the same in the same line.
const catchAll = "generic"

// Find returns the secrets in text, in the order of the rules and, for each, of the text.
func (r *leakRules) Find(text string) []leak {
	var found []leak
	for _, n := range r.due(text) {
		found = r.rules[n].find(found, text, r.allowed)
	}
	out := make([]leak, 0, len(found))
	for _, f := range found {
		if !strings.Contains(f.Rule, catchAll) || !slices.ContainsFunc(found, f.givesWayTo) {
			out = append(out, f)
		}
	}
	return out
}

// givesWayTo reports whether a finding of a catch-all rule is better told by another.
func (f leak) givesWayTo(other leak) bool {
	return f.line == other.line && strings.Contains(other.Secret, f.Secret) && !strings.Contains(other.Rule, catchAll)
}

// due returns the numbers of the rules that have a keyword in text, or need none, in order.
func (r *leakRules) due(text string) []int {
	out := slices.Clone(r.always)
	r.keywords.each(strings.ToLower(text), func(word string) bool {
		for _, n := range r.ruled[word] {
			if !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
		return true
	})
	slices.Sort(out)
	return out
}

// find adds what a rule finds.
func (r *openRule) find(found []leak, text string, always []openAllowed) []leak {
	for _, at := range r.expression().FindAllStringIndex(text, -1) {
		// Line ends around a match are no part of it, but it begins where it began: so it is in gitleaks, too.
		match := strings.Trim(text[at[0]:at[1]], "\n")
		line, around := place(text, at[0], at[0]+len(match))
		f := leak{Rule: r.ID, Match: match, Secret: r.secret(match), line: line}
		if r.Entropy != 0 && bitsPerByte(f.Secret) <= r.Entropy {
			continue
		}
		allows := func(a openAllowed) bool { return a.allows(f, around) }
		if !slices.ContainsFunc(always, allows) && !slices.ContainsFunc(r.allowed, allows) {
			found = append(found, f)
		}
	}
	return found
}

// secret is the part of a match that is the secret. The expression is asked once more, for the match by itself: it may then say less.
func (r *openRule) secret(match string) string {
	groups := r.expression().FindStringSubmatch(match)
	if len(groups) < 2 {
		return match
	}
	if r.Group > 0 {
		return groups[r.Group]
	}
	for _, g := range groups[1:] {
		if g != "" {
			return g
		}
	}
	return match
}

// allows reports whether a finding is none after all.
func (a openAllowed) allows(f leak, line string) bool {
	target := f.Secret
	switch a.Target {
	case "match":
		target = f.Match
	case "line":
		target = line
	}
	matches := a.expression != nil && target != "" && a.expression().MatchString(target)
	has := a.words != nil && a.words.In(strings.ToLower(f.Secret))
	if a.All {
		return (matches || a.expression == nil) && (has || a.words == nil)
	}
	return matches || has
}

// place tells the line in which text[start:end] begins, from 0, and what gitleaks takes for its text: from the line end before it up to the one
// after it, or, where it begins in the last of several lines, from the beginning of the text.
func place(text string, start, end int) (line int, around string) {
	next := min(start+1, len(text))
	line = strings.Count(text[:next], "\n")
	if strings.IndexByte(text[next:], '\n') >= 0 {
		last := end
		if n := strings.IndexByte(text[end:], '\n'); n >= 0 {
			last += n
		}
		return line, text[max(0, strings.LastIndexByte(text[:next], '\n')):last]
	}
	if line == 0 {
		return 0, text
	}
	if n := strings.IndexAny(text[end:], "\r\n"); n >= 0 {
		return line, text[:end+n]
	}
	return line, text
}

// bitsPerByte is Shannon's, in bits a byte.
func bitsPerByte(s string) float64 {
	var ascii [utf8.RuneSelf]int
	var others map[rune]int
	for _, c := range s {
		if c < utf8.RuneSelf {
			ascii[c]++
			continue
		}
		if others == nil {
			others = map[rune]int{}
		}
		others[c]++
	}
	bits, each := 0.0, 1/float64(len(s))
	add := func(n int) {
		if n > 0 {
			bits -= float64(n) * each * math.Log2(float64(n)*each)
		}
	}
	for _, n := range ascii {
		add(n)
	}
	for _, n := range others {
		add(n)
	}
	return bits
}
