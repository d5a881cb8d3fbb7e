package recall

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"ash/agent/memory/lexis"

	"ash/agent"
)

// catchBatch is how many items are made in one transaction.
const catchBatch = 500

// outline is every item as ranking needs it, in the order of their threads. A new one is made when the index changes:
// an outline never changes, so a recall reads one undisturbed.
type outline struct {
	extent   Extent
	lines    []Line              // by thread and place
	numbers  []int32             // number of an item → its index in lines, -1 for none
	speakers map[string][]string // a name, or a part of one, folded → the names as they stand
	threads  map[agent.ID]map[string]bool
	average  float64 // words of a message
	newest   int64   // seconds
}

// makeOutline puts lines in order.
func makeOutline(e Extent, all []Line) *outline {
	o := &outline{extent: e, speakers: map[string][]string{}, threads: map[agent.ID]map[string]bool{}}
	slices.SortFunc(all, func(a, b Line) int {
		return cmp.Or(cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.Place, b.Place), cmp.Compare(a.Seq, b.Seq))
	})
	names := map[string]string{}
	words, messages := 0, 0
	o.numbers = make([]int32, e.Last+1)
	for i := range o.numbers {
		o.numbers[i] = -1
	}
	o.lines = make([]Line, len(all))
	for i, l := range all {
		if l.Speaker != "" {
			if _, ok := names[l.Speaker]; !ok {
				names[l.Speaker] = strings.Clone(l.Speaker)
			}
			l.Speaker = names[l.Speaker]
			t := o.threads[l.Thread]
			if t == nil {
				t = map[string]bool{}
				o.threads[l.Thread] = t
			}
			t[l.Speaker] = true
		}
		o.lines[i] = l
		if l.Seq < int64(len(o.numbers)) {
			o.numbers[l.Seq] = int32(i)
		}
		if l.Kind == agent.MemoryMessage {
			words += l.Words
			messages++
		}
		o.newest = max(o.newest, l.Time.Unix())
	}
	o.average = max(1, float64(words)/float64(max(messages, 1)))
	for name := range names {
		for _, w := range lexis.Words(name) {
			if len(w.Text) > 1 {
				o.speakers[w.Text] = append(o.speakers[w.Text], name)
			}
		}
	}
	for _, list := range o.speakers {
		slices.Sort(list)
	}
	return o
}

// index returns where the item of a number stands; false when it came after the outline was made.
func (o *outline) index(seq int64) (int32, bool) {
	if seq < 0 || seq >= int64(len(o.numbers)) || o.numbers[seq] < 0 {
		return 0, false
	}
	return o.numbers[seq], true
}

// beside reports whether two neighbours in the order are of one sitting.
func (o *outline) beside(a, b int) bool {
	return a >= 0 && b >= 0 && a < len(o.lines) && b < len(o.lines) && o.lines[a].Section != 0 &&
		o.lines[a].Section == o.lines[b].Section && o.lines[a].Thread == o.lines[b].Thread
}

// outline returns the outline of the index as it is now, after bringing the index up to date.
func (e *Engine) outline(ctx context.Context) (*outline, error) {
	for {
		more, err := e.index.CatchUp(ctx, catchBatch)
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	extent, err := e.index.Extent(ctx)
	if err != nil {
		return nil, err
	}
	if e.known != nil && e.known.extent == extent {
		return e.known, nil
	}
	var lines []Line
	if o := e.known; o != nil && extent.Last > o.extent.Last && extent.Count > o.extent.Count {
		lines, err = e.index.Outline(ctx, o.extent.Last)
		if err == nil && int64(len(lines)+len(o.lines)) == extent.Count {
			all := make([]Line, 0, extent.Count)
			all = append(all, o.lines...)
			e.known = makeOutline(extent, append(all, lines...))
			return e.known, nil
		}
	}
	if err == nil {
		lines, err = e.index.Outline(ctx, 0)
	}
	if err != nil {
		return nil, err
	}
	e.known = makeOutline(extent, lines)
	return e.known, nil
}
