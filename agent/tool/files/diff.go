package files

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff/lcs"
)

const (
	maxDiff     = 128 << 10 // bytes of a diff that is shown
	maxDiffLine = 4 << 10   // bytes of one line in it
	diffContext = 3         // lines around a change
)

// unified returns the unified diff that makes after of before, "" when they are the same. complete is false when it
// had to be cut: the end says how much is missing. The time is linear in both texts.
func unified(name, before, after string) (diff string, complete bool) {
	if before == after {
		return "", true
	}
	a, b := splitLines(before), splitLines(after)
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	changes := lcs.DiffLines(a[head:len(a)-tail], b[head:len(b)-tail])
	for i := range changes {
		changes[i].Start, changes[i].End = changes[i].Start+head, changes[i].End+head
		changes[i].ReplStart, changes[i].ReplEnd = changes[i].ReplStart+head, changes[i].ReplEnd+head
	}
	w := diffWriter{complete: true}
	from, to := "a/"+name, "b/"+name
	if len(a) == 0 {
		from = "/dev/null"
	}
	if len(b) == 0 {
		to = "/dev/null"
	}
	fmt.Fprintf(&w.b, "--- %s\n+++ %s\n", from, to)
	for len(changes) > 0 {
		n := 1
		for n < len(changes) && changes[n].Start-changes[n-1].End <= 2*diffContext {
			n++
		}
		w.hunk(a, b, changes[:n])
		changes = changes[n:]
	}
	if w.left > 0 {
		fmt.Fprintf(&w.b, "[… %d more lines of this diff are not shown]\n", w.left)
	}
	return w.b.String(), w.complete
}

// splitLines cuts a text after each LF.
func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return slices.Collect(strings.Lines(text))
}

// diffWriter writes hunks up to a bound and counts what is left.
type diffWriter struct {
	b        strings.Builder
	complete bool
	left     int
}

func (w *diffWriter) hunk(a, b []string, changes []lcs.Diff) {
	first, last := changes[0], changes[len(changes)-1]
	before := min(diffContext, first.Start)
	after := min(diffContext, len(a)-last.End)
	fromLen, toLen := last.End-first.Start+before+after, last.ReplEnd-first.ReplStart+before+after
	w.write(fmt.Sprintf("@@ -%s +%s @@\n", span(first.Start-before, fromLen), span(first.ReplStart-before, toLen)))
	w.lines(' ', a[first.Start-before:first.Start])
	for i, c := range changes {
		w.lines('-', a[c.Start:c.End])
		w.lines('+', b[c.ReplStart:c.ReplEnd])
		if i+1 < len(changes) {
			w.lines(' ', a[c.End:changes[i+1].Start])
		}
	}
	w.lines(' ', a[last.End:last.End+after])
}

// span is a range of lines as unified diffs write it; at is zero-based.
func span(at, n int) string {
	switch n {
	case 0:
		return fmt.Sprintf("%d,0", at)
	case 1:
		return fmt.Sprint(at + 1)
	}
	return fmt.Sprintf("%d,%d", at+1, n)
}

func (w *diffWriter) lines(kind byte, lines []string) {
	for _, l := range lines {
		end := "\n"
		if !strings.HasSuffix(l, "\n") {
			end = "\n\\ No newline at end of file\n"
		}
		l = strings.TrimSuffix(l, "\n")
		if len(l) > maxDiffLine {
			l = fmt.Sprintf("%s [… %d more bytes of this line are not shown]", strings.ToValidUTF8(l[:maxDiffLine], ""), len(l)-maxDiffLine)
			w.complete = false
		}
		w.write(string(kind) + l + end)
	}
}

func (w *diffWriter) write(s string) {
	if w.left > 0 || w.b.Len()+len(s) > maxDiff {
		w.left++
		w.complete = false
		return
	}
	w.b.WriteString(s)
}
