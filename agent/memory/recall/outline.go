package recall

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"ash/agent"
	"ash/agent/memory/lexis"
)

const (
	// firstBatch and mostBatch are how many items are made in one transaction, twice as many each time: after turns there are few, and others
	// wait to write; after an import there are many.
	firstBatch = 16
	mostBatch  = 500
	// unknown is the minute of an item whose time nobody knows.
	unknown = math.MinInt32
	// maxVoices bounds how many of those who speak in a thread are known to speak there.
	maxVoices = 64
)

// line is an item as ranking needs it: 40 bytes, because there is one for each as long as Ash runs. What is long stands in the
// tables of the outline.
type line struct {
	seq, place, section int32
	minute              int32 // since 1970, or unknown
	thread              int32 // in threads, 0 for none
	sitting             int32 // in sittings, 0 for none
	speaker             int32 // in names, 0 for none
	weight              float32
	words               uint16
	marks               uint16
	kind                uint8 // in kinds
}

// thread is a conversation and who speaks in it.
type thread struct {
	id     agent.ID
	voices []int32
}

// outline is every item as ranking needs it, in the order of their threads. A new one is made when the index changes:
// an outline never changes, so a recall reads one undisturbed.
type outline struct {
	extent   Extent
	lines    []line  // by thread and place
	numbers  []int32 // number of an item → its index in lines, -1 for none
	sittings []int32 // where each begins in lines
	kinds    []agent.MemoryKind
	threads  []thread
	names    []string           // of those who speak
	speakers map[string][]int32 // a name, or a part of one, folded → who it may be
	average  float64            // words of a message
	newest   int32              // the latest minute
}

// draft is an outline in the making.
type draft struct {
	*outline
	added   []line
	kindOf  map[agent.MemoryKind]uint8
	nameOf  map[string]int32
	whichOf map[agent.ID]int32
}

// begin makes a draft on top of what is known; nil is nothing.
func begin(known *outline) *draft {
	d := &draft{
		outline: &outline{threads: []thread{{}}, names: []string{""}},
		kindOf:  map[agent.MemoryKind]uint8{}, nameOf: map[string]int32{}, whichOf: map[agent.ID]int32{},
	}
	if known != nil {
		d.kinds, d.threads, d.names = slices.Clone(known.kinds), slices.Clone(known.threads), slices.Clone(known.names)
	}
	for i, k := range d.kinds {
		d.kindOf[k] = uint8(i) //nolint:gosec // there are four
	}
	for i, n := range d.names {
		d.nameOf[n] = int32(i) //nolint:gosec // at most one for each item
	}
	for i, t := range d.threads {
		d.whichOf[t.id] = int32(i) //nolint:gosec // at most one for each item
	}
	return d
}

// take adds a line as it is read.
func (d *draft) take(l Line) {
	kind, ok := d.kindOf[l.Kind]
	if !ok {
		kind = uint8(len(d.kinds)) //nolint:gosec // there are four
		d.kinds, d.kindOf[l.Kind] = append(d.kinds, l.Kind), kind
	}
	name, ok := d.nameOf[l.Speaker]
	if !ok {
		name = narrow(int64(len(d.names)))
		d.names, d.nameOf[l.Speaker] = append(d.names, l.Speaker), name
	}
	which, ok := d.whichOf[l.Thread]
	if !ok {
		which = narrow(int64(len(d.threads)))
		d.threads, d.whichOf[l.Thread] = append(d.threads, thread{id: l.Thread}), which
	}
	minute := int32(unknown)
	if !l.Time.IsZero() {
		minute = narrow(l.Time.Unix() / 60)
	}
	d.added = append(d.added, line{
		seq: narrow(l.Seq), place: narrow(l.Place), section: narrow(l.Section), minute: minute, thread: which, speaker: name,
		weight: float32(l.Weight), words: uint16(min(l.Words, math.MaxUint16)), marks: uint16(l.Marks), kind: kind, //nolint:gosec // bounded
	})
}

// narrow keeps a number in 32 bits. Numbers of rows and minutes stay far below.
func narrow(n int64) int32 { return int32(max(math.MinInt32+1, min(n, math.MaxInt32))) } //nolint:gosec // bounded

// done puts the lines in order and closes the draft.
func (d *draft) done(e Extent, known *outline) *outline {
	d.extent = e
	order := func(a, b line) int {
		return cmp.Or(cmp.Compare(a.thread, b.thread), cmp.Compare(a.place, b.place), cmp.Compare(a.seq, b.seq))
	}
	slices.SortFunc(d.added, order)
	d.lines = d.added
	if known != nil && len(known.lines) > 0 {
		d.lines = merge(known.lines, d.added, order)
	}
	d.numbers = make([]int32, min(e.Last, math.MaxInt32-1)+1)
	for i := range d.numbers {
		d.numbers[i] = -1
	}
	d.sittings = []int32{0}
	words, messages := 0, 0
	for i := range d.lines {
		l := &d.lines[i]
		if int(l.seq) < len(d.numbers) {
			d.numbers[l.seq] = int32(i) //nolint:gosec // an index of lines
		}
		d.seat(i, l)
		if t := &d.threads[l.thread]; l.speaker != 0 && len(t.voices) < maxVoices && !slices.Contains(t.voices, l.speaker) {
			t.voices = append(slices.Clip(t.voices), l.speaker)
		}
		if d.kind(l) == agent.MemoryMessage {
			words += int(l.words)
			messages++
		}
		d.newest = max(d.newest, l.minute)
	}
	d.average = max(1, float64(words)/float64(max(messages, 1)))
	if known != nil && len(known.names) == len(d.names) {
		d.speakers = known.speakers
		return d.outline
	}
	d.speakers = map[string][]int32{}
	for i, name := range d.names {
		for _, w := range lexis.Words(name) {
			if len(w.Text) > 1 && !slices.Contains(d.speakers[w.Text], int32(i)) { //nolint:gosec // an index of names
				d.speakers[w.Text] = append(d.speakers[w.Text], int32(i)) //nolint:gosec // an index of names
			}
		}
	}
	return d.outline
}

// seat finds the sitting of the i-th line.
func (d *draft) seat(i int, l *line) {
	switch {
	case l.section == 0:
		l.sitting = 0
	case i > 0 && d.lines[i-1].section == l.section && d.lines[i-1].thread == l.thread:
		l.sitting = d.lines[i-1].sitting
	default:
		l.sitting = narrow(int64(len(d.sittings)))
		d.sittings = append(d.sittings, int32(i)) //nolint:gosec // an index of lines
	}
}

// merge makes one of two lists in order.
func merge(a, b []line, order func(a, b line) int) []line {
	all := make([]line, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if order(a[0], b[0]) <= 0 {
			all, a = append(all, a[0]), a[1:]
		} else {
			all, b = append(all, b[0]), b[1:]
		}
	}
	return append(append(all, a...), b...)
}

// index returns where the item of a number stands; false when it came after the outline was made.
func (o *outline) index(seq int64) (int32, bool) {
	if seq < 0 || seq >= int64(len(o.numbers)) || o.numbers[seq] < 0 {
		return 0, false
	}
	return o.numbers[seq], true
}

// kind returns what an item is.
func (o *outline) kind(l *line) agent.MemoryKind { return o.kinds[l.kind] }

// time returns when an item was said, to the minute; zero is unknown.
func (l *line) time() time.Time {
	if l.minute == unknown {
		return time.Time{}
	}
	return time.Unix(60*int64(l.minute), 0).UTC()
}

// beside reports whether two items stand in one sitting.
func (o *outline) beside(a, b int) bool {
	return a >= 0 && b >= 0 && a < len(o.lines) && b < len(o.lines) && o.lines[a].sitting != 0 && o.lines[a].sitting == o.lines[b].sitting
}

// outline returns the outline of the index as it is now, after bringing the index up to date.
func (e *Engine) outline(ctx context.Context) (*outline, error) {
	if err := e.catchUp(ctx); err != nil {
		return nil, err
	}
	e.making.Lock()
	defer e.making.Unlock()
	extent, err := e.index.Extent(ctx)
	if err != nil {
		return nil, err
	}
	known := e.known.Load()
	if known != nil && known.extent == extent {
		return known, nil
	}
	o, err := e.draw(ctx, known, extent)
	if err != nil {
		return nil, err
	}
	e.known.Store(o)
	return o, nil
}

// catchUp brings the index up to date. Where that was much, its pieces become one in the end.
func (e *Engine) catchUp(ctx context.Context) error {
	for made, batch := 0, firstBatch; ; {
		more, err := e.index.CatchUp(ctx, batch)
		if err != nil {
			return err
		}
		if !more {
			if made < mostBatch {
				return nil
			}
			return e.index.Settle(ctx)
		}
		made, batch = made+batch, min(mostBatch, 2*batch)
	}
}

// draw makes an outline: of what is known and what is new, where nothing but new items came.
func (e *Engine) draw(ctx context.Context, known *outline, extent Extent) (*outline, error) {
	if known != nil && extent.Last > known.extent.Last && extent.Count > known.extent.Count {
		d := begin(known)
		if err := e.index.Outline(ctx, known.extent.Last, d.take); err != nil {
			return nil, err
		}
		if int64(len(d.added)+len(known.lines)) == extent.Count {
			return d.done(extent, known), nil
		}
	}
	d := begin(nil)
	if err := e.index.Outline(ctx, 0, d.take); err != nil {
		return nil, err
	}
	return d.done(extent, nil), nil
}
