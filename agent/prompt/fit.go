package prompt

import (
	"hash/fnv"
	"math"

	"ash/agent"
)

// history is a conversation to be fitted into what room there is.
type history struct {
	path      []agent.Message
	blocks    []block
	tokens    int // room for the blocks and the summary
	messages  int // the most messages; 0: no limit
	summaries []agent.Summary

	places map[agent.ID]int // of the messages on the path
	suffix []int            // tokens of the blocks from i on
	most   float64          // the share to cut back to, at most
}

// choice is what of a history is sent.
type choice struct {
	kept        []int // blocks, in order
	trigger     int   // the newest block of the person among them, -1 when there is none
	summary     *agent.Summary
	summaryText string // fenced
	overflow    []agent.Message
	fits        bool
}

// History is left out in big steps. Were the oldest message dropped on every turn, the prompt would
// begin differently each time and no provider's cache would ever hit. So once a conversation is too long, it is cut back to a
// share of the room, and the cut stays where it is while the conversation grows:
//
//   - with a summary, the summary's end is the cut, until the rest has grown too long again; it is then cut back to at most
//     keepSummed, so that the next summary is not due at once;
//   - without one, the cut is put at the message of the person whose id has the highest hash among those that leave a share
//     between keepLow and keepHigh. It remains the highest for about half as many turns as there are in that span: the same choice turn
//     after turn without remembering anything (content-defined chunking).
const (
	keepLow    = 0.3
	keepSummed = 0.7
	keepHigh   = 0.95
)

// choose decides what is sent.
func (h *history) choose(rd *renderer) choice {
	h.measure()
	c := choice{trigger: -1}
	for i, b := range h.blocks {
		if b.person() {
			c.trigger = i
		}
	}
	truncated := h.path[0].Parent != ""
	limit := h.limit(truncated)
	if !truncated && h.load(0, -1, limit, h.tokens) <= 1 {
		c.kept, c.fits = h.from(0, -1), true
		return c
	}
	first, room := 0, h.tokens // blocks before first are covered by the summary
	if s, end := h.covering(); s != nil {
		c.summary = s
		c.summaryText = rd.summary(*s, h.tokens/6)
		room = max(room-Tokens(c.summaryText), 0)
		for first < len(h.blocks) && h.places[h.blocks[first].message.ID] <= end {
			first++
		}
	}
	h.most = keepHigh
	if c.summary != nil {
		h.most = keepSummed
	}
	start, extra, fits := h.cut(first, c.trigger, limit, room, truncated && c.summary == nil)
	c.kept, c.fits = h.from(start, extra), fits
	for i := first; i < start; i++ {
		if i != extra {
			c.overflow = append(c.overflow, h.blocks[i].message)
		}
	}
	return c
}

// measure prepares what the search for a cut looks up again and again.
func (h *history) measure() {
	h.places = make(map[agent.ID]int, len(h.path))
	for i, m := range h.path {
		h.places[m.ID] = i
	}
	h.suffix = make([]int, len(h.blocks)+1)
	for i := len(h.blocks) - 1; i >= 0; i-- {
		h.suffix[i] = h.suffix[i+1] + h.blocks[i].tokens
	}
}

// limit is the most blocks to keep. A path that was read only in part must be cut well within what was read, or
// its beginning would move on every turn and a summary's end would drop out of sight.
func (h *history) limit(truncated bool) int {
	n := math.MaxInt
	if h.messages > 0 {
		n = h.messages
	}
	if truncated {
		n = min(n, len(h.path))
		n -= max(n/10, 2)
	}
	return max(n, 1)
}

// cut finds the first block to keep, from first on, and the block of the person to keep besides (-1 for
// none) when the cut falls behind it. moving says that first itself moves from turn to turn.
func (h *history) cut(first, trigger, limit, room int, moving bool) (start, extra int, fits bool) {
	extra = -1
	if trigger < first {
		extra = trigger
	}
	if !moving && first < len(h.blocks) && h.load(first, extra, limit, room) <= 1 {
		return first, extra, true
	}
	// Between turns: before a message of the person, the newest at the latest.
	if trigger >= first {
		if s, ok := h.best(first, trigger, -1, limit, room); ok {
			return s, -1, true
		}
	}
	// Within the turn at hand: between its tool rounds. The newest is always kept, or the model would ask for it again.
	low, high := max(first, trigger+1), len(h.blocks)-1
	if low > high {
		return max(trigger, 0), -1, false
	}
	if s, ok := h.best(low, high, trigger, limit, room); ok {
		return s, trigger, true
	}
	return high, trigger, false
}

// best chooses a cut among the blocks low to high: between turns (extra < 0, and the person has spoken) only before
// messages of the person. Where the share is right the rank decides, else the longest that fits.
func (h *history) best(low, high, extra, limit, room int) (start int, ok bool) {
	turns := h.blocks[high].person()
	start = -1
	shared, rank := false, uint64(0)
	for s := high; s >= low; s-- {
		if turns && !h.blocks[s].person() {
			continue
		}
		load := h.load(s, extra, limit, room)
		if load > 1 || load > h.most && shared {
			break
		}
		inShare := load >= keepLow && load <= h.most
		if r := rankOf(h.blocks[s].message.ID); !inShare || !shared || r > rank {
			start, rank, shared = s, r, inShare
		}
	}
	return start, start >= 0
}

// load says how full the blocks from start on, and extra, make the room: 1 is full, more does not fit.
func (h *history) load(start, extra, limit, room int) float64 {
	tokens, n := h.suffix[start], len(h.blocks)-start
	if extra >= 0 && extra < start {
		tokens += h.blocks[extra].tokens
	} else {
		extra = -1
	}
	if tokens > room {
		return math.Inf(1)
	}
	if extra >= 0 && n == 1 {
		n = 0 // the person's message and the newest round are sent whatever the limit
	}
	return max(float64(tokens)/float64(max(room, 1)), float64(n)/float64(limit))
}

// from lists the blocks from start on, with extra before them.
func (h *history) from(start, extra int) []int {
	out := make([]int, 0, len(h.blocks)-start+1)
	if extra >= 0 && extra < start {
		out = append(out, extra)
	}
	for i := start; i < len(h.blocks); i++ {
		out = append(out, i)
	}
	return out
}

// covering returns the summary that covers most of the path, and where on the path it ends. A summary serves
// only heads that descend from its end; one whose end cannot be seen on the path is not used.
func (h *history) covering() (*agent.Summary, int) {
	var found *agent.Summary
	end := -1
	for i := range h.summaries {
		s := &h.summaries[i]
		if s.Disabled || s.Text == "" {
			continue
		}
		at, seen := h.places[s.To]
		if !seen && found == nil && h.path[0].Parent == s.To {
			found = s // it ends just before what was read
		}
		if seen && at > end {
			found, end = s, at
		}
	}
	return found, end
}

// rankOf orders cuts by a hash of the message's id.
func rankOf(id agent.ID) uint64 {
	f := fnv.New64a()
	_, _ = f.Write([]byte(id)) // a hash never fails
	x := f.Sum64()
	// FNV leaves its high bits poor for ids that differ only at the end: mix them (MurmurHash3's finaliser).
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return x
}
