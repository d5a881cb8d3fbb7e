package notes

import (
	"path"
	"slices"
	"strings"
)

// Bounds of links.
const (
	maxLinks  = 2000 // of one note that are kept
	maxTarget = 400  // bytes
)

// link is a [[wiki link]] in a text.
type link struct {
	begin, end int    // of the target within the text
	target     string // without heading and alias, trimmed
}

// links returns those of a text, in order. Code, in fences and in backquotes, holds none.
func links(text string) []link {
	var out []link
	at, fence := 0, ""
	for line := range strings.Lines(text) {
		was := fence
		if fence = fenced(line, fence); fence == "" && was == "" {
			out = linksIn(line, at, out)
		}
		at += len(line)
	}
	return out
}

func linksIn(line string, at int, to []link) []link {
	for i := 0; i < len(line); {
		switch {
		case line[i] == '`':
			ticks := len(line[i:]) - len(strings.TrimLeft(line[i:], "`"))
			end := strings.Index(line[i+ticks:], line[i:i+ticks])
			i += ticks
			if end >= 0 {
				i += end + ticks
			}
		case strings.HasPrefix(line[i:], "[["):
			inner, _, closed := strings.Cut(line[i+2:], "]]")
			if !closed {
				return to
			}
			if again := strings.LastIndex(inner, "[["); again >= 0 {
				i += 2 + again
				continue
			}
			name := inner
			if n := strings.IndexAny(inner, "#|^"); n >= 0 {
				name = strings.TrimSuffix(inner[:n], `\`) // a pipe in a table is escaped
			}
			if t := strings.TrimSpace(name); t != "" && len(t) <= maxTarget {
				to = append(to, link{begin: at + i + 2, end: at + i + 2 + len(name), target: t})
			}
			i += len(inner) + 4
		default:
			i++
		}
	}
	return to
}

// targets are the links of a text as they are written, sorted and without doubles.
func targets(text string) []string {
	var out []string
	for _, l := range links(text) {
		out = append(out, l.target)
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return out[:min(len(out), maxLinks)]
}

// foldTarget is a target as it is compared: folded, without extension and leading slash.
func foldTarget(target string) string {
	target = strings.Trim(strings.TrimSpace(target), "/")
	if strings.EqualFold(path.Ext(target), extension) {
		target = stem(target)
	}
	return fold(target)
}

// namesOf are the folded targets that may mean a note: its name, with ever more of its folders.
func namesOf(name string) []string {
	whole := fold(stem(name))
	out := []string{whole}
	for {
		_, rest, more := strings.Cut(whole, "/")
		if !more {
			return out
		}
		whole = rest
		out = append(out, whole)
	}
}

// book finds notes by the targets of links.
type book map[string][]string // folded target → paths

func newBook(paths []string) book {
	b := make(book, len(paths))
	for _, p := range paths {
		for _, n := range namesOf(p) {
			b[n] = append(b[n], p)
		}
	}
	return b
}

// resolve returns the note a target means, "" for none: the one of that very path, otherwise the one nearest to the top, the
// first by name among those.
func (b book) resolve(target string) string {
	best := ""
	folded := foldTarget(target)
	for _, p := range b[folded] {
		if fold(stem(p)) == folded {
			return p
		}
		if best == "" || strings.Count(p, "/") < strings.Count(best, "/") || strings.Count(p, "/") == strings.Count(best, "/") && p < best {
			best = p
		}
	}
	return best
}

// relink replaces the targets of links that mean from by one that means to, where before and after are the notes
// there are before and after the renaming. A link by name alone stays one where that is enough.
func relink(text, from, to string, before, after book) (string, int) {
	var b strings.Builder
	at, n := 0, 0
	for _, l := range links(text) {
		if before.resolve(l.target) != from || after.resolve(l.target) == to {
			continue
		}
		target := stem(to)
		if short := path.Base(target); !strings.Contains(l.target, "/") && after.resolve(short) == to {
			target = short
		}
		if strings.EqualFold(path.Ext(l.target), extension) {
			target += extension
		}
		b.WriteString(text[at:l.begin] + target)
		at = l.end
		n++
	}
	if n == 0 {
		return text, 0
	}
	b.WriteString(text[at:])
	return b.String(), n
}
