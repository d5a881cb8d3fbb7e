package files

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// Bounds on the search for what was meant.
const (
	nearLines = 20_000 // lines of the text that are compared
	nearBytes = 400    // of a line that are compared
	nearAlike = 0.6    // share of letter pairs that two lines must have in common
)

// numbered is the beginning of a line copied from file_read.
var numbered = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*\d+\t`) })

// nearMiss says where in the text something like old stands, by line numbers: the text itself stays out, since an
// error bears no labels.
func nearMiss(text, old string) string {
	want := strings.Split(strings.Trim(old, "\n"), "\n")
	if !slices.ContainsFunc(want, func(l string) bool { return !numbered().MatchString(l) }) {
		return "It seems to hold the line numbers of file_read: leave them and the tab after them out."
	}
	if secretMark().MatchString(old) {
		return "It holds a mark such as [secret: …], which stands where the file has a key that is not shown. Choose a passage without it."
	}
	lines := strings.Split(text, "\n")
	if len(lines) > nearLines {
		lines = lines[:nearLines]
	}
	folded := make([]string, len(want))
	for i, l := range want {
		folded[i] = fold(l)
	}
	anchor := slices.IndexFunc(folded, func(s string) bool { return s != "" })
	if anchor < 0 {
		return "It is only white space. Take some of the text around it."
	}
	var begins []int // lines that are like the first one of old but for white space
	for i, l := range lines {
		if fold(l) != folded[anchor] {
			continue
		}
		at := i - anchor
		if same := alike(lines, at, folded); at >= 0 && same == len(folded) {
			return fmt.Sprintf("Lines %d to %d are the same but for white space%s. Read them again and copy them exactly.", at+1, at+len(folded), whitespace(lines[at:at+len(folded)], want))
		}
		if begins = append(begins, i+1); len(begins) > maxNamed {
			break
		}
	}
	if len(begins) > 0 {
		return fmt.Sprintf("Its first line stands in line %s, but what follows there differs. Read from there and copy the passage exactly.", numbers(begins))
	}
	if near := similar(lines, folded); len(near) > 0 {
		return fmt.Sprintf("The most similar text is in line %s. Read it again and copy the passage exactly.", numbers(near))
	}
	return "Nothing in it is similar. Read the file again: it may have changed, or the passage is in another file."
}

// alike counts how many lines from at on are those of folded.
func alike(lines []string, at int, folded []string) int {
	n := 0
	for at >= 0 && n < len(folded) && at+n < len(lines) && fold(lines[at+n]) == folded[n] {
		n++
	}
	return n
}

// fold reduces a line to what is left when white space does not count.
func fold(l string) string {
	if len(l) > nearBytes {
		l = strings.ToValidUTF8(l[:nearBytes], "")
	}
	return strings.Join(strings.Fields(l), " ")
}

// whitespace says in which way lines that are otherwise the same differ.
func whitespace(have, want []string) string {
	indent := func(l string) string { return l[:len(l)-len(strings.TrimLeftFunc(l, unicode.IsSpace))] }
	for i := range have {
		h, w := strings.TrimSuffix(have[i], "\r"), strings.TrimSuffix(want[i], "\r")
		hi, wi := indent(h), indent(w)
		switch {
		case hi != wi && strings.Contains(hi, "\t") && !strings.Contains(wi, "\t"):
			return " (the file is indented with tabs)"
		case hi != wi && !strings.Contains(hi, "\t") && strings.Contains(wi, "\t"):
			return " (the file is indented with spaces)"
		case hi != wi:
			return fmt.Sprintf(" (line indented by %d, in old by %d)", len(hi), len(wi))
		case h != w && strings.TrimRightFunc(h, unicode.IsSpace) == strings.TrimRightFunc(w, unicode.IsSpace):
			return " (at the end of a line)"
		}
	}
	return ""
}

// similar returns the up to three lines most like the longest line of want.
func similar(lines, want []string) []int {
	longest := slices.MaxFunc(want, func(a, b string) int { return len(a) - len(b) })
	pairs := pairsOf(longest)
	if len(longest) < 4 {
		return nil
	}
	type near struct {
		line  int
		score float64
	}
	var best []near
	for i, l := range lines {
		if l = fold(l); l == "" || len(l) > 4*len(longest)+16 || len(longest) > 4*len(l)+16 {
			continue
		}
		if score := overlap(pairs, l, len(longest)); score >= nearAlike {
			best = append(best, near{i + 1, score})
		}
	}
	slices.SortStableFunc(best, func(a, b near) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return 0
	})
	var out []int
	for _, n := range best[:min(3, len(best))] {
		out = append(out, n.line)
	}
	return out
}

// pairsOf counts the pairs of neighbouring bytes in s, letters in lower case.
func pairsOf(s string) map[[2]byte]int {
	s = strings.ToLower(s)
	out := make(map[[2]byte]int, len(s))
	for i := 1; i < len(s); i++ {
		out[[2]byte{s[i-1], s[i]}]++
	}
	return out
}

// overlap is the Dice coefficient of the pairs of l and those given, of a text of n bytes.
func overlap(pairs map[[2]byte]int, l string, n int) float64 {
	l = strings.ToLower(l)
	used := make(map[[2]byte]int, len(l))
	common := 0
	for i := 1; i < len(l); i++ {
		p := [2]byte{l[i-1], l[i]}
		if used[p] < pairs[p] {
			used[p]++
			common++
		}
	}
	return 2 * float64(common) / float64(len(l)-1+n-1)
}
