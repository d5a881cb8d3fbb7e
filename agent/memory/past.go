package memory

import (
	"context"
	"slices"
	"strings"

	"ash/agent"
)

// overtakenMark stands where recall leaves out what holds no longer.
const overtakenMark = "…"

// leastLeft is how many words that say something must be left of a text for it to be worth recalling.
const leastLeft = 2

// Past says what may be overtaken: what was recalled.
type Past struct {
	Facts    []agent.ID // current ones: what led to them is looked at
	Messages []agent.ID // what was learned from them, or given to them, is looked at
	Threads  []agent.ID // as are facts that were learned in these
}

// Overtaken is a fact that holds no longer.
type Overtaken struct {
	Fact  agent.Fact
	Now   string     // what took its place, in the end; "" when nothing did
	Given []agent.ID // replies among Past.Messages that were given it
}

// Current returns what was recalled without what holds no longer: sentences of messages and episodes that say a fact which was
// superseded or taken back are left out, and items of which nothing is left. A sentence that names what took its place as well ("not Graz
// but Linz") says itself what holds, and stays. Notes are the person's to keep up, and facts are current as they come.
func (b *Book) Current(ctx context.Context, items []agent.Recollection) ([]agent.Recollection, error) {
	var p Past
	for _, r := range items {
		switch r.Kind {
		case agent.MemoryFact:
			p.Facts = append(p.Facts, agent.ID(r.Ref))
		case agent.MemoryMessage:
			p.Messages = append(p.Messages, agent.ID(r.Ref))
			p.Threads = append(p.Threads, r.Thread)
		case agent.MemoryEpisode:
			p.Threads = append(p.Threads, agent.ID(r.Ref))
		case agent.MemoryNote:
		}
	}
	if len(p.Messages)+len(p.Threads) == 0 {
		return items, nil
	}
	list, err := b.store.Overtaken(ctx, p)
	if err != nil || len(list) == 0 {
		return items, err
	}
	old := make([]overtaken, len(list))
	for i, o := range list {
		old[i] = newOvertaken(o)
	}
	out := make([]agent.Recollection, 0, len(items))
	for _, r := range items {
		if r.Kind == agent.MemoryMessage || r.Kind == agent.MemoryEpisode {
			var keep bool
			if r.Text, keep = without(r, old); !keep {
				continue
			}
		}
		out = append(out, r)
	}
	return out, nil
}

// overtaken is a fact that holds no longer, as it is looked for.
type overtaken struct {
	Overtaken
	gist  gist
	old   []string // words, folded, that tell it from what took its place
	newer []string // and those that tell that one from it
}

func newOvertaken(o Overtaken) overtaken {
	now := o.Fact
	now.Text = o.Now
	return overtaken{Overtaken: o, gist: gistOf(o.Fact), old: telling(o.Fact, o.Now), newer: telling(now, o.Fact.Text)}
}

// telling returns the words, folded, that a fact says and another text does not.
func telling(f agent.Fact, other string) []string {
	g := gistOf(f)
	there := strings.Fields(Normal(other))
	var list []string
	for _, w := range strings.Fields(Normal(f.Text)) {
		if slices.Contains(g.values, stem(w)) && !slices.Contains(there, w) && !slices.Contains(list, w) {
			list = append(list, w)
		}
	}
	return list
}

// without returns the text of an item without the sentences that say what holds no longer, and whether enough of it is left.
func without(r agent.Recollection, old []overtaken) (text string, keep bool) {
	var gone []string
	for _, sentence := range Sentences(r.Text) {
		if slices.ContainsFunc(old, func(o overtaken) bool { return o.in(sentence, r) }) {
			gone = append(gone, sentence)
		}
	}
	if len(gone) == 0 {
		return r.Text, true
	}
	text = MaskedText(r.Text, gone...)
	for _, end := range []string{".", "!", "?", ""} {
		text = strings.ReplaceAll(text, Blank+end, overtakenMark)
	}
	left := 0
	for _, w := range wordsOf(text) {
		if !w.nothing && !w.isSelf {
			left++
		}
	}
	return text, left >= leastLeft
}

// in reports whether a sentence of an item says it. Where the item is known to be about it, its value is enough.
func (o overtaken) in(sentence string, r agent.Recollection) bool {
	words := strings.Fields(Normal(sentence))
	says := slices.ContainsFunc(o.old, func(w string) bool { return slices.Contains(words, w) })
	if !says || o.corrected(words) {
		return false
	}
	source := o.Fact.Source
	if r.Kind == agent.MemoryMessage && (source.Message == agent.ID(r.Ref) || slices.Contains(o.Given, agent.ID(r.Ref))) {
		return true
	}
	hits := o.gist.hits(sentence)
	if source.Thread != "" && (source.Thread == r.Thread || r.Kind == agent.MemoryEpisode && source.Thread == agent.ID(r.Ref)) {
		return len(hits) >= 2
	}
	return o.gist.says(hits)
}

// corrected reports whether words name what took its place: more than half of what tells that, as a long sentence easily has the day
// or the number of something else.
func (o overtaken) corrected(words []string) bool {
	n := 0
	for _, w := range o.newer {
		if slices.Contains(words, w) {
			n++
		}
	}
	return 2*n > len(o.newer)
}
