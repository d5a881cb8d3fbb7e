package store

import "ash/agent"

// The JSON form of what a call would do and of what was found in its result.

type effectJSON struct {
	Kind    agent.EffectKind `json:"kind"`
	Title   string           `json:"title,omitempty"`
	Target  string           `json:"target,omitempty"`
	Text    string           `json:"text,omitempty"`
	Diff    string           `json:"diff,omitempty"`
	Hosts   []string         `json:"hosts,omitempty"`
	Choices []string         `json:"choices,omitempty"`
	Sources []string         `json:"sources,omitempty"`
	Private []string         `json:"private,omitempty"`
	Opaque  bool             `json:"opaque,omitempty"`
	Offers  []offerJSON      `json:"offers,omitempty"`
	Told    bool             `json:"told,omitempty"`
}

type offerJSON struct {
	Rule   string `json:"rule"`
	Label  string `json:"label"`
	Thread bool   `json:"thread,omitempty"`
}

type findingJSON struct {
	Rule    string `json:"rule"`
	Why     string `json:"why"`
	Excerpt string `json:"excerpt,omitempty"`
}

// encodeEffect returns the stored form of e, "" for none.
func encodeEffect(e *agent.Effect) (string, error) {
	if e == nil {
		return "", nil
	}
	out := effectJSON{
		Kind: e.Kind, Title: e.Title, Target: e.Target, Text: e.Text, Diff: e.Diff, Hosts: e.Hosts, Choices: e.Choices,
		Sources: e.Sources, Private: e.Private, Opaque: e.Opaque, Told: e.Told,
	}
	for _, o := range e.Offers {
		out.Offers = append(out.Offers, offerJSON(o))
	}
	s, err := toJSON(out)
	return clean(s), err
}

func decodeEffect(s string) (*agent.Effect, error) {
	if s == "" {
		return nil, nil
	}
	var in effectJSON
	if err := fromJSON(s, &in); err != nil {
		return nil, err
	}
	out := &agent.Effect{
		Kind: in.Kind, Title: in.Title, Target: in.Target, Text: in.Text, Diff: in.Diff, Hosts: in.Hosts, Choices: in.Choices,
		Sources: in.Sources, Private: in.Private, Opaque: in.Opaque, Told: in.Told,
	}
	for _, o := range in.Offers {
		out.Offers = append(out.Offers, agent.Offer(o))
	}
	return out, nil
}

func encodeFindings(all []agent.Finding) (string, error) {
	if len(all) == 0 {
		return "", nil
	}
	s, err := toJSON(toFindings(all))
	return clean(s), err
}

func decodeFindings(s string) ([]agent.Finding, error) {
	if s == "" {
		return nil, nil
	}
	var in []findingJSON
	if err := fromJSON(s, &in); err != nil {
		return nil, err
	}
	return fromFindings(in), nil
}

func toFindings(all []agent.Finding) []findingJSON {
	var out []findingJSON
	for _, f := range all {
		out = append(out, findingJSON{Rule: clean(f.Rule), Why: clean(f.Why), Excerpt: clean(f.Excerpt)})
	}
	return out
}

func fromFindings(in []findingJSON) []agent.Finding {
	var out []agent.Finding
	for _, f := range in {
		out = append(out, agent.Finding(f))
	}
	return out
}
