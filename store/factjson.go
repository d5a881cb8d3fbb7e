package store

import (
	"time"

	"ash/agent"
)

// The JSON form of facts, as proposals, runs and what is hidden keep them. Fields may be added, never renamed or
// given another meaning.

type factJSON struct {
	ID         agent.ID         `json:"id"`
	Kind       agent.FactKind   `json:"kind"`
	Status     agent.FactStatus `json:"status"`
	Text       string           `json:"text"`
	Owner      agent.ID         `json:"owner,omitempty"`
	Subject    string           `json:"subject,omitempty"`
	Entities   []entityJSON     `json:"entities,omitempty"`
	Confidence float64          `json:"confidence"`
	Importance float64          `json:"importance"`
	Said       time.Time        `json:"said,omitzero"`
	From       time.Time        `json:"from,omitzero"`
	Until      time.Time        `json:"until,omitzero"`
	Expires    time.Time        `json:"expires,omitzero"`
	Pinned     bool             `json:"pinned,omitempty"`
	Supersedes []agent.ID       `json:"supersedes,omitempty"`
	Successor  agent.ID         `json:"successor,omitempty"`
	Source     agent.SourceKind `json:"source"`
	Thread     agent.ID         `json:"thread,omitempty"`
	Message    agent.ID         `json:"message,omitempty"`
	Note       string           `json:"note,omitempty"`
	Quote      string           `json:"quote,omitempty"`
	Run        agent.ID         `json:"run,omitempty"`
	Via        string           `json:"via,omitempty"`
	Labels     []labelJSON      `json:"labels,omitempty"`
	Created    time.Time        `json:"created,omitzero"`
	Updated    time.Time        `json:"updated,omitzero"`
}

type entityJSON struct {
	ID      agent.ID         `json:"id,omitempty"`
	Name    string           `json:"name"`
	Kind    agent.EntityKind `json:"kind"`
	Aliases []string         `json:"aliases,omitempty"`
}

type changeJSON struct {
	Fact   agent.ID  `json:"fact"`
	Before *factJSON `json:"before,omitempty"`
	After  *factJSON `json:"after,omitempty"`
}

func toFactJSON(f agent.Fact) factJSON {
	return factJSON{
		ID: f.ID, Kind: f.Kind, Status: f.Status, Text: clean(f.Text), Owner: f.Owner, Subject: clean(f.Subject), Entities: toEntityJSON(f.Entities),
		Confidence: f.Confidence, Importance: f.Importance, Said: f.Said, From: f.From, Until: f.Until, Expires: f.Expires, Pinned: f.Pinned,
		Supersedes: f.Supersedes, Successor: f.Successor, Source: f.Source.Kind, Thread: f.Source.Thread, Message: f.Source.Message,
		Note: clean(f.Source.Note), Quote: clean(f.Source.Quote), Run: f.Source.Run, Via: clean(f.Source.Via), Labels: toLabels(f.Labels), Created: f.Created, Updated: f.Updated,
	}
}

func fromFactJSON(j factJSON) agent.Fact {
	return agent.Fact{
		ID: j.ID, Kind: j.Kind, Status: j.Status, Text: j.Text, Owner: j.Owner, Subject: j.Subject, Entities: fromEntityJSON(j.Entities),
		Confidence: j.Confidence, Importance: j.Importance, Said: j.Said, From: j.From, Until: j.Until, Expires: j.Expires, Pinned: j.Pinned,
		Supersedes: j.Supersedes, Successor: j.Successor,
		Source: agent.Provenance{Kind: j.Source, Thread: j.Thread, Message: j.Message, Note: j.Note, Quote: j.Quote, Run: j.Run, Via: j.Via},
		Labels: fromLabels(j.Labels), Created: j.Created, Updated: j.Updated,
	}
}

func toEntityJSON(list []agent.Entity) []entityJSON {
	var out []entityJSON
	for _, e := range list {
		out = append(out, entityJSON{ID: e.ID, Name: clean(e.Name), Kind: e.Kind, Aliases: e.Aliases})
	}
	return out
}

func fromEntityJSON(list []entityJSON) []agent.Entity {
	var out []agent.Entity
	for _, e := range list {
		out = append(out, agent.Entity{ID: e.ID, Name: e.Name, Kind: e.Kind, Aliases: e.Aliases})
	}
	return out
}

func encodeFact(f agent.Fact) (string, error) { return toJSON(toFactJSON(f)) }

func decodeFact(s string) (agent.Fact, error) {
	var j factJSON
	err := fromJSON(s, &j)
	return fromFactJSON(j), err
}

func encodeChanges(list []agent.MemoryChange) (string, error) {
	out := make([]changeJSON, len(list))
	for i, c := range list {
		out[i] = changeJSON{Fact: c.Fact, Before: factOrNil(c.Before), After: factOrNil(c.After)}
	}
	return toJSON(out)
}

func factOrNil(f *agent.Fact) *factJSON {
	if f == nil {
		return nil
	}
	j := toFactJSON(*f)
	return &j
}

func decodeChanges(s string) ([]agent.MemoryChange, error) {
	var in []changeJSON
	if err := fromJSON(s, &in); err != nil {
		return nil, err
	}
	var out []agent.MemoryChange
	for _, c := range in {
		one := agent.MemoryChange{Fact: c.Fact}
		if c.Before != nil {
			f := fromFactJSON(*c.Before)
			one.Before = &f
		}
		if c.After != nil {
			f := fromFactJSON(*c.After)
			one.After = &f
		}
		out = append(out, one)
	}
	return out, nil
}
