package archive

import (
	"encoding/hex"
	"time"

	"ash/agent"
)

// The JSON forms of an archive of memory. Another shape or meaning of a field is another Version.

// Fact is a fact as JSON: in an archive, and what ash memory prints.
type Fact struct {
	ID         agent.ID         `json:"id"`
	Kind       agent.FactKind   `json:"kind"`
	Status     agent.FactStatus `json:"status"`
	Text       string           `json:"text"`
	Subject    string           `json:"subject,omitempty"`
	Entities   []Entity         `json:"entities,omitempty"`
	Confidence float64          `json:"confidence"`
	Importance float64          `json:"importance"`
	Said       time.Time        `json:"said,omitzero"`
	From       time.Time        `json:"from,omitzero"`
	Until      time.Time        `json:"until,omitzero"`
	Expires    time.Time        `json:"expires,omitzero"`
	Pinned     bool             `json:"pinned,omitempty"`
	Supersedes []agent.ID       `json:"supersedes,omitempty"`
	Successor  agent.ID         `json:"successor,omitempty"`
	Source     Source           `json:"source"`
	Labels     []Label          `json:"labels,omitempty"`
	Created    time.Time        `json:"created,omitzero"`
	Updated    time.Time        `json:"updated,omitzero"`
}

// Source is agent.Provenance.
type Source struct {
	Kind    agent.SourceKind `json:"kind"`
	Thread  agent.ID         `json:"thread,omitempty"`
	Message agent.ID         `json:"message,omitempty"`
	Note    string           `json:"note,omitempty"`
	Quote   string           `json:"quote,omitempty"`
	Run     agent.ID         `json:"run,omitempty"`
	Via     string           `json:"via,omitempty"`
}

// Entity is agent.Entity.
type Entity struct {
	ID      agent.ID         `json:"id,omitempty"`
	Name    string           `json:"name"`
	Kind    agent.EntityKind `json:"kind"`
	Aliases []string         `json:"aliases,omitempty"`
}

// Label is agent.Label.
type Label struct {
	Source  string          `json:"source"`
	Kind    agent.LabelKind `json:"kind"`
	Private bool            `json:"private,omitempty"`
}

// FromFact gives the JSON form of a fact.
func FromFact(f agent.Fact) Fact {
	return Fact{
		ID: f.ID, Kind: f.Kind, Status: f.Status, Text: f.Text, Subject: f.Subject, Entities: fromEntities(f.Entities),
		Confidence: f.Confidence, Importance: f.Importance, Said: f.Said, From: f.From, Until: f.Until, Expires: f.Expires, Pinned: f.Pinned,
		Supersedes: f.Supersedes, Successor: f.Successor, Source: Source(f.Source), Labels: fromLabels(f.Labels), Created: f.Created, Updated: f.Updated,
	}
}

// Fact is the noun.
func (j Fact) Fact() agent.Fact {
	return agent.Fact{
		ID: j.ID, Kind: j.Kind, Status: j.Status, Text: j.Text, Subject: j.Subject, Entities: toEntities(j.Entities),
		Confidence: j.Confidence, Importance: j.Importance, Said: j.Said, From: j.From, Until: j.Until, Expires: j.Expires, Pinned: j.Pinned,
		Supersedes: j.Supersedes, Successor: j.Successor, Source: agent.Provenance(j.Source), Labels: toLabels(j.Labels), Created: j.Created, Updated: j.Updated,
	}
}

func fromEntity(e agent.Entity) Entity {
	return Entity{ID: e.ID, Name: e.Name, Kind: e.Kind, Aliases: e.Aliases}
}

func (j Entity) entity() agent.Entity {
	return agent.Entity{ID: j.ID, Name: j.Name, Kind: j.Kind, Aliases: j.Aliases}
}

func fromEntities(list []agent.Entity) (out []Entity) {
	for _, e := range list {
		out = append(out, fromEntity(e))
	}
	return out
}

func toEntities(list []Entity) (out []agent.Entity) {
	for _, e := range list {
		out = append(out, e.entity())
	}
	return out
}

func fromLabels(l agent.Labels) (out []Label) {
	for _, x := range l {
		out = append(out, Label(x))
	}
	return out
}

func toLabels(list []Label) agent.Labels {
	var out agent.Labels
	for _, x := range list {
		out = append(out, agent.Label(x))
	}
	return out.Union()
}

// usage is agent.Usage.
type usage struct {
	Input      int   `json:"input,omitempty"`
	Output     int   `json:"output,omitempty"`
	CacheRead  int   `json:"cache_read,omitempty"`
	CacheWrite int   `json:"cache_write,omitempty"`
	Cost       int64 `json:"cost_micro_dollars,omitempty"`
	FirstToken int64 `json:"first_token_ns,omitempty"`
	Duration   int64 `json:"duration_ns,omitempty"`
}

func fromUsage(u agent.Usage) usage {
	return usage{u.Input, u.Output, u.CacheRead, u.CacheWrite, int64(u.Cost), int64(u.FirstToken), int64(u.Duration)}
}

func (u usage) usage() agent.Usage {
	return agent.Usage{
		Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite,
		Cost: agent.MicroDollars(u.Cost), FirstToken: time.Duration(u.FirstToken), Duration: time.Duration(u.Duration),
	}
}

type episode struct {
	Thread   agent.ID  `json:"conversation"`
	Through  agent.ID  `json:"through,omitempty"`
	Text     string    `json:"text"`
	Entities []Entity  `json:"entities,omitempty"`
	Labels   []Label   `json:"labels,omitempty"`
	Provider string    `json:"provider,omitempty"`
	Model    string    `json:"model,omitempty"`
	Usage    usage     `json:"usage,omitzero"`
	Began    time.Time `json:"began,omitzero"`
	Ended    time.Time `json:"ended,omitzero"`
	Created  time.Time `json:"created,omitzero"`
}

func fromEpisode(e agent.Episode) episode {
	return episode{
		e.Thread, e.Through, e.Text, fromEntities(e.Entities), fromLabels(e.Labels), e.Model.Provider, e.Model.Name, fromUsage(e.Usage), e.Began, e.Ended, e.Created,
	}
}

func (j episode) noun() agent.Episode {
	return agent.Episode{
		Thread: j.Thread, Through: j.Through, Text: j.Text, Entities: toEntities(j.Entities), Labels: toLabels(j.Labels),
		Model: agent.ModelRef{Provider: j.Provider, Name: j.Model}, Usage: j.Usage.usage(), Began: j.Began, Ended: j.Ended, Created: j.Created,
	}
}

type change struct {
	Fact   agent.ID `json:"fact"`
	Before *Fact    `json:"before,omitempty"`
	After  *Fact    `json:"after,omitempty"`
}

type run struct {
	ID            agent.ID      `json:"id"`
	Kind          agent.RunKind `json:"kind"`
	Thread        agent.ID      `json:"conversation,omitempty"`
	Through       agent.ID      `json:"through,omitempty"`
	Provider      string        `json:"provider,omitempty"`
	Model         string        `json:"model,omitempty"`
	Usage         usage         `json:"usage,omitzero"`
	Changes       []change      `json:"changes"`
	FailureCode   agent.Code    `json:"failure_code,omitempty"`
	FailurePublic string        `json:"failure,omitempty"`
	Undone        time.Time     `json:"undone,omitzero"`
	Created       time.Time     `json:"created,omitzero"`
}

func fromRun(r agent.MemoryRun) run {
	out := run{
		ID: r.ID, Kind: r.Kind, Thread: r.Thread, Through: r.Through, Provider: r.Model.Provider, Model: r.Model.Name, Usage: fromUsage(r.Usage),
		Changes: []change{}, Undone: r.Undone, Created: r.Created,
	}
	if r.Failure != nil {
		out.FailureCode, out.FailurePublic = r.Failure.Code, r.Failure.Public
	}
	for _, c := range r.Changes {
		one := change{Fact: c.Fact}
		if c.Before != nil {
			f := FromFact(*c.Before)
			one.Before = &f
		}
		if c.After != nil {
			f := FromFact(*c.After)
			one.After = &f
		}
		out.Changes = append(out.Changes, one)
	}
	return out
}

func (j run) noun() agent.MemoryRun {
	r := agent.MemoryRun{
		ID: j.ID, Kind: j.Kind, Thread: j.Thread, Through: j.Through, Model: agent.ModelRef{Provider: j.Provider, Name: j.Model},
		Usage: j.Usage.usage(), Undone: j.Undone, Created: j.Created,
	}
	if j.FailureCode != "" {
		r.Failure = &agent.Failure{Code: j.FailureCode, Public: j.FailurePublic}
	}
	for _, c := range j.Changes {
		one := agent.MemoryChange{Fact: c.Fact}
		if c.Before != nil {
			f := c.Before.Fact()
			one.Before = &f
		}
		if c.After != nil {
			f := c.After.Fact()
			one.After = &f
		}
		r.Changes = append(r.Changes, one)
	}
	return r
}

type proposal struct {
	ID      agent.ID             `json:"id"`
	Run     agent.ID             `json:"run,omitempty"`
	Action  agent.ProposalAction `json:"action"`
	Why     string               `json:"why,omitempty"`
	Created time.Time            `json:"created,omitzero"`
	Fact    Fact                 `json:"fact"`
}

func fromProposal(p agent.Proposal) proposal {
	return proposal{p.ID, p.Run, p.Action, p.Why, p.Created, FromFact(p.Fact)}
}

func (j proposal) noun() agent.Proposal {
	return agent.Proposal{ID: j.ID, Run: j.Run, Action: j.Action, Why: j.Why, Created: j.Created, Fact: j.Fact.Fact()}
}

// hexBytes are bytes written as hexadecimal digits.
type hexBytes []byte

func (h hexBytes) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(h)), nil }

func (h *hexBytes) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}

type tombstone struct {
	ID      agent.ID   `json:"id"`
	Key     string     `json:"key"`
	Hashes  []hexBytes `json:"hashes"`
	Vector  hexBytes   `json:"vector,omitempty"`
	Space   string     `json:"space,omitempty"`
	Created time.Time  `json:"created,omitzero"`
}

func fromTombstone(t Tombstone) tombstone {
	out := tombstone{ID: t.ID, Key: t.Key, Hashes: []hexBytes{}, Vector: t.Vector, Space: t.Space, Created: t.Created}
	for _, h := range t.Hashes {
		out.Hashes = append(out.Hashes, h)
	}
	return out
}

func (j tombstone) noun() Tombstone {
	out := Tombstone{Key: j.Key, Tombstone: agent.Tombstone{ID: j.ID, Vector: j.Vector, Space: j.Space, Created: j.Created}}
	for _, h := range j.Hashes {
		out.Hashes = append(out.Hashes, h)
	}
	return out
}

type key struct {
	ID  string   `json:"id"`
	Key hexBytes `json:"key"`
}

type record struct {
	Path   string  `json:"path"`
	Hash   string  `json:"hash,omitempty"`
	Labels []Label `json:"labels,omitempty"`
	Own    bool    `json:"own,omitempty"`
}
