package memory

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ash/agent"
)

// Blank stands where a passage was.
const Blank = "[forgotten]"

// Masked returns m without what masks hide, in text, attachments' extracts, arguments and results of its calls. m itself stays as it is.
// A passage is found whatever its case, accents, white space and Markdown marks, at borders of words. Reasoning that held
// one is dropped: it could not be sent back anyway. Labels stay.
func Masked(m agent.Message, masks []agent.Mask) agent.Message {
	k := masker{}
	for _, mask := range masks {
		switch {
		case mask.Message != m.ID:
		case mask.Passage == "":
			k.whole = true
		default:
			k.passages = append(k.passages, foldText(mask.Passage))
		}
	}
	if !k.whole && len(k.passages) == 0 {
		return m
	}
	// The longest first: a passage inside another one would cut it in two.
	slices.SortStableFunc(k.passages, func(a, b foldedText) int { return len(b.text) - len(a.text) })
	m.Parts = k.parts(m.Parts)
	calls := make([]agent.ToolCall, len(m.Calls))
	for i, c := range m.Calls {
		calls[i] = k.call(c)
	}
	if m.Calls != nil {
		m.Calls = calls
	}
	return m
}

// MaskedText returns text without the passages.
func MaskedText(text string, passages ...string) string {
	k := masker{}
	for _, p := range passages {
		k.passages = append(k.passages, foldText(p))
	}
	return k.text(text)
}

// masker hides passages.
type masker struct {
	whole    bool // everything
	passages []foldedText
}

func (k masker) parts(parts []agent.Part) []agent.Part {
	if parts == nil {
		return nil
	}
	out := make([]agent.Part, 0, len(parts))
	for _, p := range parts {
		switch p := p.(type) {
		case agent.Text:
			p.Text = k.text(p.Text)
			out = append(out, p)
		case agent.Thinking:
			if k.whole || k.text(p.Text) != p.Text {
				continue
			}
			out = append(out, p)
		case agent.File:
			p.Extract = k.text(p.Extract)
			p.Attachment.Name = k.text(p.Attachment.Name)
			if p.Extract != "" && k.whole || strings.Contains(p.Extract, Blank) {
				p.Data = nil // it says what the extract said
			}
			out = append(out, p)
		case agent.Image:
			if k.whole {
				out = append(out, agent.Text{Text: Blank, Labels: p.Labels})
				continue
			}
			out = append(out, p)
		case agent.ToolResult:
			p.Content = k.parts(p.Content)
			out = append(out, p)
		default:
			out = append(out, p)
		}
	}
	return out
}

func (k masker) call(c agent.ToolCall) agent.ToolCall {
	c.Arguments = k.raw(c.Arguments)
	c.Result = k.parts(c.Result)
	c.Why = k.text(c.Why)
	if k.whole {
		c.Extra = nil
	}
	if c.Effect != nil {
		e := *c.Effect
		for _, s := range []*string{&e.Title, &e.Target, &e.Text, &e.Diff} {
			*s = k.text(*s)
		}
		e.Hosts, e.Choices, e.Private = k.list(e.Hosts), k.list(e.Choices), k.list(e.Private)
		c.Effect = &e
	}
	if c.Decision != nil {
		d := *c.Decision
		d.Reason, d.Answer = k.text(d.Reason), k.text(d.Answer)
		if d.Arguments != nil {
			d.Arguments = k.raw(d.Arguments)
		}
		c.Decision = &d
	}
	c.Findings = slices.Clone(c.Findings)
	for i := range c.Findings {
		c.Findings[i].Why, c.Findings[i].Excerpt = k.text(c.Findings[i].Why), k.text(c.Findings[i].Excerpt)
	}
	return c
}

func (k masker) list(list []string) []string {
	out := slices.Clone(list)
	for i, s := range out {
		out[i] = k.text(s)
	}
	return out
}

// raw masks the strings inside JSON. What holds nothing to hide stays byte for byte.
func (k masker) raw(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return raw
	}
	if k.whole {
		return json.RawMessage(`{}`)
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return json.RawMessage(`{}`) // the store holds JSON only; what is none cannot be told to be clean
	}
	changed := false
	v = k.value(v, &changed)
	if !changed {
		return raw
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return json.RawMessage(`{}`)
	}
	return bytes.TrimSpace(b.Bytes())
}

func (k masker) value(v any, changed *bool) any {
	switch v := v.(type) {
	case string:
		out := k.text(v)
		*changed = *changed || out != v
		return out
	case json.Number:
		if out := k.text(v.String()); out != v.String() {
			*changed = true
			return out
		}
		return v
	case []any:
		for i := range v {
			v[i] = k.value(v[i], changed)
		}
		return v
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, x := range v {
			out[k.value(name, changed).(string)] = k.value(x, changed)
		}
		return out
	}
	return v
}

// text replaces every occurrence of the passages.
func (k masker) text(s string) string {
	if s == "" {
		return s
	}
	if k.whole {
		return Blank
	}
	for _, p := range k.passages {
		s = p.blankIn(s)
	}
	return s
}

// foldedText is a text as passages are compared: letters and digits only, folded.
type foldedText struct {
	original string
	text     string
	from, to []int // where the character that gave each byte of text begins and ends in original
}

func foldText(s string) foldedText {
	f := foldedText{original: s}
	var b strings.Builder
	for i, r := range s {
		size := utf8.RuneLen(r)
		if r == utf8.RuneError {
			_, size = utf8.DecodeRuneInString(s[i:])
		}
		if unicode.Is(unicode.Mn, r) && len(f.to) > 0 { // an accent goes with its letter
			f.to[len(f.to)-1] = i + size
			continue
		}
		folded := foldRune(r)
		b.WriteString(folded)
		for range len(folded) {
			f.from, f.to = append(f.from, i), append(f.to, i+size)
		}
	}
	f.text = b.String()
	return f
}

// blankIn replaces the passage wherever s holds it.
func (f foldedText) blankIn(s string) string {
	if f.text == "" {
		if f.original == "" {
			return s
		}
		return strings.ReplaceAll(s, f.original, Blank)
	}
	in := foldText(s)
	var b strings.Builder
	done := 0
	for at := 0; ; {
		i := strings.Index(in.text[at:], f.text)
		if i < 0 {
			break
		}
		i += at
		from, to := in.from[i], in.to[i+len(f.text)-1]
		at = i + 1
		if from < done || !border(s, from) || !border(s, to) {
			continue
		}
		b.WriteString(s[done:from])
		b.WriteString(Blank)
		done = to
		at = i + len(f.text)
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// border reports whether a word ends at byte i of s.
func border(s string, i int) bool {
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	after, _ := utf8.DecodeRuneInString(s[i:])
	return !wordRune(before) || !wordRune(after) || spaceless(before) || spaceless(after)
}

func wordRune(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r))
}
