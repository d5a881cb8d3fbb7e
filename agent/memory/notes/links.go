package notes

import (
	"iter"
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
	for l := range wiki(text) {
		if l.target != "" && len(l.target) <= maxTarget {
			out = append(out, l.link)
		}
	}
	return out
}

// wikiLink is a link as a whole. Its target is empty for one within the same note.
type wikiLink struct {
	link
	from, to int    // of the whole, with the mark of an embed
	heading  string // after the #
	shown    string // after the |
	embed    bool
}

// wiki yields all wiki links of a text, in order.
func wiki(text string) iter.Seq[wikiLink] {
	return func(yield func(wikiLink) bool) {
		at, fence := 0, ""
		for line := range strings.Lines(text) {
			was := fence
			if fence = fenced(line, fence); fence == "" && was == "" && !wikiIn(line, at, yield) {
				return
			}
			at += len(line)
		}
	}
}

// wikiIn yields those of a line that begins at a byte of the text.
func wikiIn(line string, at int, yield func(wikiLink) bool) bool {
	var code map[int]int
	for i := 0; i < len(line); {
		switch {
		case line[i] == '`':
			if code == nil {
				code = lastRuns(line)
			}
			i = behindCode(line, i, code)
		case line[i] == '\\' && i+1 < len(line) && strings.IndexByte("[!`\\", line[i+1]) >= 0:
			i += 2
		case strings.HasPrefix(line[i:], "[["):
			inner, _, closed := strings.Cut(line[i+2:], "]]")
			if !closed {
				return true
			}
			if again := strings.LastIndex(inner, "[["); again >= 0 {
				i += 2 + again
				continue
			}
			l := wikiOf(inner, at+i)
			if l.embed = i > 0 && line[i-1] == '!'; l.embed {
				l.from--
			}
			if (l.target != "" || l.heading != "") && !yield(l) {
				return false
			}
			i += len(inner) + 4
		default:
			i++
		}
	}
	return true
}

// lastRuns says where in a line the last run of so many backquotes begins. So a line full of runs that nothing ends is read once.
func lastRuns(line string) map[int]int {
	last := map[int]int{}
	for at, run := range runs(line, 0) {
		last[run] = at
	}
	return last
}

// runs yields where runs of backquotes begin, from a byte of the line on, and how long they are.
func runs(line string, from int) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for i := from; i < len(line); {
			next := strings.IndexByte(line[i:], '`')
			if next < 0 {
				return
			}
			i += next
			run := len(line[i:]) - len(strings.TrimLeft(line[i:], "`"))
			if !yield(i, run) {
				return
			}
			i += run
		}
	}
}

// behindCode is where a line goes on behind the code that begins at i, or behind its backquotes alone where it does not end.
func behindCode(line string, i int, last map[int]int) int {
	ticks := len(line[i:]) - len(strings.TrimLeft(line[i:], "`"))
	if last[ticks] > i {
		for at, run := range runs(line, i+ticks) {
			if run == ticks {
				return at + run
			}
		}
	}
	return i + ticks
}

func wikiOf(inner string, at int) wikiLink {
	name, shown, _ := strings.Cut(inner, "|")
	name = strings.TrimSuffix(name, `\`) // a pipe in a table is escaped
	l := wikiLink{from: at, to: at + len(inner) + 4, shown: strings.TrimSpace(shown)}
	if n := strings.IndexAny(name, "#^"); n >= 0 {
		l.heading = strings.TrimSpace(strings.Trim(name[n:], "#^"))
		name = name[:n]
	}
	l.link = link{begin: at + 2, end: at + 2 + len(name), target: strings.TrimSpace(name)}
	return l
}

// Linked returns a text in which every wiki link outside of code is what show makes of it.
func Linked(text string, show func(Link) string) string {
	var b strings.Builder
	at := 0
	for l := range wiki(text) {
		if len(l.target) > maxTarget {
			continue
		}
		b.WriteString(text[at:l.from])
		b.WriteString(show(Link{Target: l.target, Heading: l.heading, Shown: l.shown, Embed: l.embed}))
		at = l.to
	}
	if at == 0 {
		return text
	}
	b.WriteString(text[at:])
	return b.String()
}

// Link is a wiki link: [[Target#Heading|Shown]], with a ! before it when it is to show what it leads to.
type Link struct {
	Target  string // "" within the note itself
	Heading string
	Shown   string
	Embed   bool
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
