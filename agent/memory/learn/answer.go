package learn

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"ash/agent"
)

// answer is what a model answered, as far as it can be read.
type answer struct {
	Keep    []answeredFact
	Expire  []answeredEnd
	Episode answeredEpisode
}

type answeredFact struct {
	Text       string          `json:"text"`
	Quote      string          `json:"quote"`
	Message    string          `json:"message"`
	Core       bool            `json:"core"`
	About      []answeredThing `json:"about"`
	Subject    string          `json:"subject"`
	Replaces   []string        `json:"replaces"`
	From       string          `json:"from"`
	Until      string          `json:"until"`
	Expires    string          `json:"expires"`
	Confidence float64         `json:"confidence"`
	Importance float64         `json:"importance"`
}

type answeredEnd struct {
	ID      string `json:"id"`
	Quote   string `json:"quote"`
	Message string `json:"message"`
	Why     string `json:"why"`
}

type answeredEpisode struct {
	Text     string          `json:"text"`
	Entities []answeredThing `json:"entities"`
}

type answeredThing struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// readAnswer reads an answer: the first JSON object in it. What does not fit in it is left out, item by item. The
// error is CodeUnavailable: another try may do better.
func readAnswer(text string) (answer, error) {
	var a answer
	object, ok := firstObject(text)
	if !ok {
		return a, agent.Errorf(agent.CodeUnavailable, "The model that was asked what to remember answered with something else.")
	}
	var parts struct {
		Keep    []json.RawMessage `json:"keep"`
		Expire  []json.RawMessage `json:"expire"`
		Episode json.RawMessage   `json:"episode"`
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(object, &fields); err != nil {
		return a, agent.Wrap(agent.CodeUnavailable, err, "The model that was asked what to remember answered with something that cannot be read.")
	}
	lenient(fields["keep"], &parts.Keep)
	lenient(fields["expire"], &parts.Expire)
	for _, raw := range parts.Keep[:min(len(parts.Keep), maxKept)] {
		var f answeredFact
		if lenient(raw, &f) {
			a.Keep = append(a.Keep, f)
		}
	}
	for _, raw := range parts.Expire[:min(len(parts.Expire), maxExpired)] {
		var e answeredEnd
		if lenient(raw, &e) {
			a.Expire = append(a.Expire, e)
		}
	}
	if !lenient(fields["episode"], &a.Episode) {
		a.Episode = answeredEpisode{}
	}
	return a, nil
}

// lenient decodes raw into v and reports whether it fits. Where single fields do not, the others are kept.
func lenient(raw json.RawMessage, v any) bool {
	if len(raw) == 0 {
		return false
	}
	err := json.Unmarshal(raw, v)
	if err == nil {
		return true
	}
	_, mistyped := err.(*json.UnmarshalTypeError) //nolint:errorlint // json returns it as it is
	return mistyped && bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{"))
}

// firstObject returns the first JSON object in a text that is whole.
func firstObject(text string) ([]byte, bool) {
	text = agent.Clip(text, maxAnswer)
	for tries := 0; tries < 8; tries++ {
		i := strings.IndexByte(text, '{')
		if i < 0 {
			return nil, false
		}
		text = text[i:]
		var raw json.RawMessage
		if err := json.NewDecoder(strings.NewReader(text)).Decode(&raw); err == nil {
			return raw, true
		}
		text = text[1:]
	}
	return nil, false
}

// resolve turns the names of an answer into what they stand for.
func (r *pass) resolve(a answer) found {
	var f found
	for _, k := range a.Keep {
		if strings.TrimSpace(k.Text) == "" {
			continue
		}
		out := kept{
			text: k.Text, quote: k.Quote, message: r.messageOf(k.Message), kind: agent.FactPlain, subject: subjectOf(k.Subject),
			about: things(k.About), from: day(k.From), until: day(k.Until), expires: day(k.Expires),
			confidence: k.Confidence, importance: k.Importance,
		}
		if k.Core {
			out.kind = agent.FactCore
		}
		for _, id := range k.Replaces[:min(len(k.Replaces), maxExpired)] {
			if fact, ok := r.factOf(id); ok && !slices.Contains(out.replaces, fact) {
				out.replaces = append(out.replaces, fact)
			}
		}
		f.keep = append(f.keep, out)
	}
	for _, e := range a.Expire {
		if fact, ok := r.factOf(e.ID); ok {
			f.expire = append(f.expire, expired{fact: fact, quote: e.Quote, message: r.messageOf(e.Message), why: e.Why})
		}
	}
	if strings.TrimSpace(a.Episode.Text) != "" {
		f.episode = &draft{text: a.Episode.Text, entities: things(a.Episode.Entities)}
	}
	return f
}

// subjectOf returns the subject of a fact: "" for the person, however a model names them.
func subjectOf(s string) string {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "i", "me", "myself", "person", "the person", "owner", "the owner", "user", "the user", "ich", "self":
		return ""
	}
	return s
}

func (r *pass) messageOf(id string) agent.ID {
	if i, ok := numbered(id, 'm'); ok && i < len(r.m.said) {
		return r.m.said[i].Message
	}
	return ""
}

func (r *pass) factOf(id string) (agent.ID, bool) {
	if i, ok := numbered(id, 'f'); ok && i < len(r.facts) && !r.facts[i].Labels.Untrusted() {
		return r.facts[i].ID, true
	}
	return "", false
}

// numbered reads "f3" as 2.
func numbered(id string, letter byte) (int, bool) {
	id = strings.TrimSpace(id)
	if len(id) < 2 || len(id) > 6 || id[0]|0x20 != letter {
		return 0, false
	}
	n, err := strconv.Atoi(id[1:])
	return n - 1, err == nil && n > 0
}

func things(list []answeredThing) []agent.Entity {
	var out []agent.Entity
	for _, t := range list[:min(len(list), 2*maxAbout)] {
		out = append(out, agent.Entity{Name: t.Name, Kind: agent.EntityKind(strings.ToLower(strings.TrimSpace(t.Kind)))})
	}
	return out
}
