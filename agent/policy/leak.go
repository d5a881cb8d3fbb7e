package policy

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"hash/maphash"
	"slices"
	"strings"
	"sync"

	"ash/agent"
)

// leak is what is wrong with a payload that leaves the machine.
type leak struct {
	Private []string // passages that repeat private text, as they stand in the payload
	Opaque  bool     // it cannot be read
}

func (l leak) found() bool { return l.Opaque || len(l.Private) > 0 }

// also is the end of the sentence that says why it asks.
func (l leak) also() string {
	switch {
	case l.Opaque && len(l.Private) > 0:
		return ", with private text in it, some of it in a form nobody can read"
	case l.Opaque:
		return ", in a form nobody can read"
	case len(l.Private) > 0:
		return ", with private text in it"
	}
	return ""
}

// Bounds of the comparison.
const (
	maxPrivate  = 8 << 20 // bytes of private text that are compared; with more, nothing that is sent can be checked
	maxPassages = 20
	maxHistory  = 32 // earlier sends that are read as one with this
)

// payloadOf is everything of an effect that leaves the machine and that the model chose.
func payloadOf(e agent.Effect) string {
	all := []string{e.Text}
	if e.Kind == agent.EffectSend && e.Target != "" && !strings.Contains(e.Text, e.Target) {
		all = append(all, e.Target)
	}
	for _, h := range e.Hosts {
		if h != "*" && !strings.Contains(e.Text, h) {
			all = append(all, h)
		}
	}
	return strings.Join(all, "\n")
}

// leaks looks for private text, and for what cannot be read, in what a call would send.
func (p *Policy) leaks(ctx context.Context, s agent.Situation, a asked) (leak, error) {
	payload := payloadOf(a.effect)
	if len(payload) > maxPayload {
		return leak{Opaque: true}, nil
	}
	core, err := p.core(ctx, s)
	if err != nil {
		return leak{}, err
	}
	r := read(payload, history(s, a))
	l := leak{Opaque: tooLong(a, payload) || r.encoded || r.partial || slices.ContainsFunc(r.plain, unreadable)}
	results := privateTexts(s)
	size := 0
	for _, t := range slices.Concat(core, results) {
		size += len(t)
	}
	if size > maxPrivate {
		l.Opaque = true
		return l, nil
	}
	x := newIndex(r.all)
	said := p.said(s)
	var spans []span
	gather := func(texts []string, threshold int) {
		for _, t := range texts {
			for _, h := range x.find(p.texts.fold(t), threshold) {
				if h.plain && h.words <= 4 && contained(said, x.text[h.start:h.end]) {
					continue // the person's own words in this conversation
				}
				if s := x.span(h); s.from >= 0 {
					spans = append(spans, s)
				}
			}
		}
	}
	gather(core, enoughCore)
	gather(results, enough)
	l.Private = passages(payload, spans)
	return l, nil
}

// span is a passage of the payload.
type span struct {
	from, to int32
	token    bool // it was decoded as a whole
}

func (x *index) span(h hit) span {
	var s span
	s.from, s.to = layer{from: x.from, to: x.to}.span(h.start, h.end)
	s.token = true
	for k := h.start; k < h.end; k++ {
		s.token = s.token && (x.from[k] < 0 || (x.from[k] == s.from && x.to[k] == s.to))
	}
	return s
}

func (p *Policy) core(ctx context.Context, s agent.Situation) ([]string, error) {
	if p.options.Private == nil {
		return nil, nil
	}
	return p.options.Private.PrivateTexts(ctx, s)
}

// tooLong reports whether a payload is longer than one of its kind has any reason to be.
func tooLong(a asked, payload string) bool {
	switch {
	case a.effect.Kind == agent.EffectFetch:
		return len(payload) > longURL
	case a.effect.Kind == agent.EffectSend && a.call.Name == toolSearch:
		return len(payload) > longQuery
	}
	return false
}

// privateTexts returns what stood before the model and is private: whatever is labelled so, and what came from files.
func privateTexts(s agent.Situation) []string {
	var out []string
	take := func(parts []agent.Part, all bool) {
		for _, part := range parts {
			switch part := part.(type) {
			case agent.Text:
				if part.Text != "" && (all || private(part.Labels)) {
					out = append(out, part.Text)
				}
			case agent.File:
				if part.Extract != "" {
					out = append(out, part.Extract)
				}
			}
		}
	}
	for i, m := range s.Path {
		take(m.Parts, false)
		for _, c := range before(s, i) {
			files := c.Effect != nil && (c.Effect.Kind == agent.EffectRead || c.Effect.Kind == agent.EffectExecute)
			take(c.Result, files || private(c.Labels))
		}
	}
	for _, x := range s.Summaries {
		if private(x.Labels) {
			out = append(out, x.Text)
		}
	}
	return out
}

func private(labels agent.Labels) bool {
	return slices.ContainsFunc(labels, func(l agent.Label) bool { return l.Private || l.Kind == agent.LabelPrivate })
}

// said returns, folded, what the person wrote in this conversation.
func (p *Policy) said(s agent.Situation) [][]byte {
	var out [][]byte
	for _, m := range s.Path {
		if m.Role != agent.RoleUser || m.Author == "" {
			continue
		}
		for _, part := range m.Parts {
			if t, ok := part.(agent.Text); ok && len(t.Labels) == 0 && t.Text != "" {
				f := p.texts.fold(t.Text)
				out = append(out, f.text[:f.size])
			}
		}
	}
	return out
}

func contained(in [][]byte, passage []byte) bool {
	return slices.ContainsFunc(in, func(text []byte) bool { return bytes.Contains(text, passage) })
}

// history returns what earlier calls of this conversation sent to the same site, or with the same tool where that is no URL, so
// that a text sent in pieces is seen as one.
func history(s agent.Situation, a asked) layer {
	var out layer
	if !reachesOut(a.effect.Kind) {
		return out
	}
	to := receiver(a.call.Name, a.effect.Text)
	var earlier []layer
	for _, m := range slices.Backward(s.Path) {
		for _, c := range slices.Backward(m.Calls) {
			if len(earlier) == maxHistory {
				break
			}
			text := sent(c, a)
			if text == "" || receiver(c.Name, text) != to {
				continue
			}
			piece := rawLayer(text).chosen()
			for i := range piece.from {
				piece.from[i], piece.to[i] = -1, -1
			}
			earlier = append(earlier, piece)
		}
	}
	for _, l := range slices.Backward(earlier) {
		out.append(l)
	}
	return out
}

// receiver says who gets a payload.
func receiver(tool, payload string) string {
	if host := hostOf(payload); host != "" {
		return site(host)
	}
	return "tool " + tool
}

// sent returns what a call sent, or will send if it is one of the same reply; "" for nothing.
func sent(c agent.ToolCall, a asked) string {
	beside := c.Message == a.call.Message
	switch {
	case c.ID == a.call.ID, !beside && c.Started.IsZero():
		return ""
	case c.Effect != nil && reachesOut(c.Effect.Kind) && len(c.Effect.Text) <= longURL:
		return c.Effect.Text
	case c.Effect != nil || !beside || len(c.Arguments) > maxPayload:
		return ""
	}
	var arguments map[string]any // of a call that was not judged yet
	if err := json.Unmarshal(c.Arguments, &arguments); err != nil {
		return ""
	}
	for _, v := range arguments {
		if text, ok := v.(string); ok && len(text) <= longURL && (hostOf(text) != "" || c.Name == toolSearch) {
			return text
		}
	}
	return ""
}

// site returns the last two names of a host: whoever has one has all below it.
func site(host string) string {
	if i := strings.LastIndexByte(host, '.'); i > 0 {
		if j := strings.LastIndexByte(host[:i], '.'); j >= 0 {
			return host[j+1:]
		}
	}
	return host
}

// passages cuts the spans out of the payload, each once, overlapping ones as one. Of encoded words that were decoded with
// and without what stands beside them, the shortest counts.
func passages(payload string, spans []span) []string {
	slices.SortFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
	spans = slices.Compact(spans)
	var merged []span
	for _, s := range spans {
		wider := func(o span) bool { return s.token && o.token && s != o && s.from <= o.from && o.to <= s.to }
		if slices.ContainsFunc(spans, wider) {
			continue
		}
		if n := len(merged); n > 0 && s.from < merged[n-1].to {
			merged[n-1].to = max(merged[n-1].to, s.to)
			continue
		}
		merged = append(merged, s)
	}
	var out []string
	for _, s := range merged {
		if text := payload[s.from:s.to]; !slices.Contains(out, text) && len(out) < maxPassages {
			out = append(out, text)
		}
	}
	return out
}

// textCache keeps folded texts, so that a conversation's are folded once. It holds at most maxPrivate bytes of them.
type textCache struct {
	seed maphash.Seed
	mu   sync.Mutex
	old  map[textKey]*folded // of the generation before: what is used again moves on
	now  map[textKey]*folded
	size int
}

type textKey struct {
	hash uint64
	size int
}

func newTextCache() *textCache {
	return &textCache{seed: maphash.MakeSeed(), now: map[textKey]*folded{}}
}

func (c *textCache) fold(text string) *folded {
	key := textKey{maphash.String(c.seed, text), len(text)}
	c.mu.Lock()
	f := c.now[key]
	if f == nil {
		if f = c.old[key]; f != nil {
			c.keep(key, f)
		}
	}
	c.mu.Unlock()
	if f != nil {
		return f
	}
	f = foldText(text)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(key, f)
	return f
}

func (c *textCache) keep(key textKey, f *folded) {
	if c.size+key.size > maxPrivate {
		c.old, c.now, c.size = c.now, map[textKey]*folded{}, 0
	}
	if c.now[key] == nil {
		c.now[key], c.size = f, c.size+key.size
	}
}
