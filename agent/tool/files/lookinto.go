package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// searchWorkers is the most files that are read at once.
const searchWorkers = 4

// job is some files of one folder.
type job struct {
	dir   string
	names []string
}

// jobFiles is how many files one job has at most; batch is how many jobs are done before it is seen whether that is enough.
const (
	jobFiles = 64
	batch    = 64
)

// run is one search under way.
type run struct {
	spot *spot
	query
	jobs    []job
	files   int // to look into
	found   []hit
	looked  atomic.Int64 // files that were looked into
	read    atomic.Int64 // bytes
	binary  atomic.Int64 // files that are not text
	large   atomic.Int64 // files that are too large
	failed  atomic.Int64 // files that could not be opened
	cut     bool         // there are more files than are looked into
	late    bool
	stopped bool // there are more files, enough was found
}

// hit is a file with lines that match.
type hit struct {
	path  string
	hash  string
	count int
	lines []hitLine
}

// hitLine is a line that matches, or one beside it.
type hitLine struct {
	number int // from 1
	text   string
	match  bool
}

// collect finds the files to look into, in order.
func (r *run) collect(ctx context.Context) error {
	if !r.spot.info.IsDir() {
		if err := r.spot.ordinary(); err != nil {
			return err
		}
		dir, name := path.Split(r.spot.path)
		r.jobs, r.files = []job{{dir: path.Clean(dir), names: []string{name}}}, 1
		return nil
	}
	w := walker{room: r.spot.room, depth: maxDepth, all: r.all, visit: r.add}
	err := w.walk(ctx, r.spot.path)
	r.cut = r.cut || w.cut
	return err
}

func (r *run) add(e entry) error {
	if !e.mode.IsRegular() || e.ignored && !r.all {
		return nil
	}
	rel := e.path
	if r.spot.path != "." {
		rel = strings.TrimPrefix(e.path, r.spot.path+"/")
	}
	if !r.glob.match(rel) {
		return nil
	}
	if r.files++; r.files > searchFiles {
		r.files, r.cut = searchFiles, true
		return errEnough
	}
	dir, name := path.Split(e.path)
	dir = path.Clean(dir)
	if n := len(r.jobs); n > 0 && r.jobs[n-1].dir == dir && len(r.jobs[n-1].names) < jobFiles {
		r.jobs[n-1].names = append(r.jobs[n-1].names, name)
		return nil
	}
	r.jobs = append(r.jobs, job{dir: dir, names: []string{name}})
	return nil
}

// lookInto searches the files side by side and keeps the order.
func (r *run) lookInto(ctx context.Context) {
	enough := 0
	for jobs := r.jobs; len(jobs) > 0; {
		some := jobs[:min(batch, len(jobs))]
		jobs = jobs[len(some):]
		results := make([][]hit, len(some))
		var next atomic.Int64
		var group sync.WaitGroup
		for range min(searchWorkers, runtime.GOMAXPROCS(0), len(some)) {
			group.Go(func() {
				for i := int(next.Add(1)) - 1; i < len(some); i = int(next.Add(1)) - 1 {
					results[i] = r.do(ctx, some[i])
				}
			})
		}
		group.Wait()
		for _, hits := range results {
			for _, h := range hits {
				r.found = append(r.found, h)
				if r.filesOnly {
					enough++
				} else {
					enough += h.count
				}
			}
		}
		if len(jobs) > 0 && (enough > r.limit || r.read.Load() > searchBytes || ctx.Err() != nil) {
			r.stopped = true
			return
		}
	}
}

// do searches the files of one job.
func (r *run) do(ctx context.Context, j job) []hit {
	dir, err := r.spot.root.OpenRoot(j.dir)
	if err != nil {
		r.failed.Add(int64(len(j.names)))
		return nil
	}
	defer func() { _ = dir.Close() }() // nothing was written through it
	var out []hit
	var buf []byte
	for _, name := range j.names {
		if ctx.Err() != nil || r.read.Load() > searchBytes {
			break
		}
		if buf, err = r.readInto(dir, name, buf); err != nil {
			continue
		}
		h, ok, err := r.file(ctx, buf)
		if err != nil {
			break
		}
		if ok {
			h.path = path.Join(j.dir, name)
			out = append(out, h)
		}
	}
	return out
}

// errPassedOver says that a file was not looked into; it is counted.
var errPassedOver = errors.New("passed over")

// readInto reads a file into buf, which may be replaced by a larger one.
func (r *run) readInto(dir *os.Root, name string, buf []byte) ([]byte, error) {
	f, info, err := openFile(dir, name)
	if err != nil {
		r.failed.Add(1)
		return buf, errPassedOver
	}
	defer func() { _ = f.Close() }() // nothing was written through it
	if info.Size() > searchFile {
		r.large.Add(1)
		return buf, errPassedOver
	}
	if need := int(info.Size()) + 1; cap(buf) < need {
		buf = make([]byte, need)
	}
	buf = buf[:cap(buf)]
	n := 0
	for n < len(buf) {
		k, err := f.Read(buf[n:])
		n += k
		if err != nil {
			break // the end, or as much as could be read
		}
	}
	r.read.Add(int64(n))
	return buf[:n], nil
}

// file searches the contents of one file.
func (r *run) file(ctx context.Context, raw []byte) (hit, bool, error) {
	text := raw
	if bytes.IndexByte(raw[:min(len(raw), sniffed)], 0) >= 0 || !utf8.Valid(raw) || bytes.HasPrefix(raw, []byte(bomUTF8)) {
		decoded, _, ok := decode(raw)
		if !ok {
			r.binary.Add(1)
			return hit{}, false, nil
		}
		text = []byte(decoded)
	}
	r.looked.Add(1)
	found, err := r.match.lines(ctx, text)
	if err != nil || len(found) == 0 {
		return hit{}, false, err
	}
	h := hit{hash: hashOf(raw), count: len(found)}
	if !r.filesOnly {
		h.lines = r.around(text, found[:min(len(found), r.limit+1)])
	}
	return h, true, nil
}

// around picks the lines that were found, with those beside them.
func (r *run) around(text []byte, found []int) []hitLine {
	var out []hitLine
	number, f := 0, 0
	last := found[len(found)-1] + r.context
	for line := range bytes.Lines(text) {
		if number > last {
			break
		}
		for f+1 < len(found) && found[f]+r.context < number && found[f+1]-r.context <= number {
			f++
		}
		match := slices.Contains(found[f:min(len(found), f+2*r.context+1)], number)
		if match || found[f]-r.context <= number && number <= found[f]+r.context {
			out = append(out, hitLine{number + 1, r.shorten(bytes.TrimRight(line, "\r\n"), match), match})
		}
		number++
	}
	return out
}

// shorten cuts a line to what is shown: its beginning, or what stands around the match.
func (r *run) shorten(line []byte, match bool) string {
	if len(line) <= searchLine {
		return strings.ToValidUTF8(string(line), "\uFFFD")
	}
	from := 0
	if match {
		if at := r.match.line.FindIndex(line[:min(len(line), r.match.step)]); at != nil && at[1] > searchLine {
			from = max(0, at[0]-searchLine/4)
		}
	}
	to := min(len(line), from+searchLine)
	text := strings.ToValidUTF8(string(line[from:to]), "\uFFFD")
	if from > 0 {
		text = fmt.Sprintf("[%d bytes …] %s", from, text)
	}
	if to < len(line) {
		text = fmt.Sprintf("%s [… %d more bytes]", text, len(line)-to)
	}
	return text
}

// write writes lines of the file, at most left that match and up to about room bytes in b, and returns how many match.
func (h hit) write(b *strings.Builder, left, room int) int {
	matches, before := 0, 0
	for _, l := range h.lines {
		if l.match && matches == left || b.Len() > room {
			fmt.Fprintf(b, "[… more in this file: %d lines match]\n", h.count)
			return matches
		}
		sign := "-"
		if l.match {
			matches++
			sign = ":"
		}
		if before > 0 && l.number > before+1 {
			b.WriteString("--\n")
		}
		before = l.number
		fmt.Fprintf(b, "%d%s %s\n", l.number, sign, l.text)
	}
	return matches
}

// shown is how a file of the search is named.
func (r *run) shown(p string) string { return r.spot.area.shown(p) }

// bounds says what was not looked into.
func (r *run) bounds() string {
	var all []string
	add := func(n int64, what string) {
		if n > 0 {
			all = append(all, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(r.binary.Load(), "binary files")
	add(r.large.Load(), "files over "+bytesOf(searchFile))
	add(r.failed.Load(), "files that cannot be opened")
	text := ""
	if len(all) > 0 {
		text = "[passed over: " + strings.Join(all, ", ") + "]\n"
	}
	switch {
	case r.late:
		text += fmt.Sprintf("[stopped after %s: search a smaller part]\n", searchTime)
	case r.read.Load() > searchBytes:
		text += fmt.Sprintf("[stopped after %s: search a smaller part]\n", bytesOf(searchBytes))
	case r.cut:
		text += "[there are more files than are looked into: search a smaller part]\n"
	}
	return text
}
