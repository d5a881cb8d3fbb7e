package handlers

import (
	"strconv"
	"time"

	"ash/agent"
	"ash/agent/memory"
)

// The wire forms of the API. Fields may be added, never renamed or given another meaning.
type (
	// APIMemory is one thing remembered.
	APIMemory struct {
		ID           agent.ID         `json:"id"`
		Version      string           `json:"version" jsonschema:"for If-Match: the ETag, without its quotes"`
		Kind         agent.FactKind   `json:"kind"`
		Status       agent.FactStatus `json:"status" jsonschema:"only what is current is recalled; the rest is history"`
		Text         string           `json:"text"`
		About        []APIThing       `json:"about"`
		Subject      string           `json:"subject,omitempty" jsonschema:"whom or what it says something of; left out for the owner"`
		Confidence   float64          `json:"confidence" jsonschema:"0 to 1: how sure it is that this was meant"`
		Importance   float64          `json:"importance" jsonschema:"0 to 1"`
		Pinned       bool             `json:"pinned" jsonschema:"never retired or merged by Ash itself"`
		Said         time.Time        `json:"said"`
		From         time.Time        `json:"from,omitzero" jsonschema:"true from"`
		Until        time.Time        `json:"until,omitzero" jsonschema:"true until"`
		Expires      time.Time        `json:"expires,omitzero" jsonschema:"not recalled from then on"`
		Supersedes   []agent.ID       `json:"supersedes,omitempty" jsonschema:"the memories it took the place of"`
		SupersededBy agent.ID         `json:"superseded_by,omitempty" jsonschema:"the memory that took its place"`
		Source       APISource        `json:"source"`
		Labels       []APILabel       `json:"labels"`
		Created      time.Time        `json:"created"`
		Updated      time.Time        `json:"updated"`
	}
	// APIMemoryFull is a memory with its history.
	APIMemoryFull struct {
		APIMemory
		History []APIMemory `json:"history" jsonschema:"all that led to it and all that took its place, itself included, the oldest first"`
	}
	// APIMemories is a page of memories.
	APIMemories struct {
		Memories []APIMemory `json:"memories"`
		Next     string      `json:"next,omitempty" jsonschema:"pass it as after to get the next page; left out on the last one"`
	}
	// APIThing is somebody or something a memory is about.
	APIThing struct {
		Name string           `json:"name" jsonschema:"at most 120 bytes"`
		Kind agent.EntityKind `json:"kind,omitempty" jsonschema:"thing when it is left out and the name is new"`
	}
	// APISource is where a memory came from.
	APISource struct {
		Kind    agent.SourceKind `json:"kind"`
		Via     string           `json:"via,omitempty" jsonschema:"by what means, for people: API token and its name"`
		Thread  agent.ID         `json:"thread,omitempty" jsonschema:"the conversation it was learned in"`
		Message agent.ID         `json:"message,omitempty"`
		Note    string           `json:"note,omitempty" jsonschema:"path of the note"`
		Quote   string           `json:"quote,omitempty" jsonschema:"the passage that says it"`
	}
	// APILabel says how far content may be trusted.
	APILabel struct {
		Source  string          `json:"source" jsonschema:"where from: a host, a file, a channel; at most 256 bytes"`
		Kind    agent.LabelKind `json:"kind" jsonschema:"untrusted: a stranger may have written it; private: not to leave the machine unasked"`
		Private bool            `json:"private,omitempty" jsonschema:"repeats private text"`
	}
	// APINewMemory is a memory to keep.
	APINewMemory struct {
		Text       string         `json:"text" jsonschema:"one statement, complete by itself; at most 2,000 bytes"`
		Kind       agent.FactKind `json:"kind,omitempty" jsonschema:"fact when it is left out"`
		About      []APIThing     `json:"about,omitempty" jsonschema:"people, places, projects and things it is about, at most 16"`
		Importance *float64       `json:"importance,omitempty" jsonschema:"0 to 1; 0.5 when it is left out"`
		Pinned     bool           `json:"pinned,omitempty"`
		Said       APIMoment      `json:"said,omitzero" jsonschema:"when it was said; now when it is left out"`
		From       APIMoment      `json:"from,omitzero" jsonschema:"true from"`
		Until      APIMoment      `json:"until,omitzero" jsonschema:"true until"`
		Expires    APIMoment      `json:"expires,omitzero" jsonschema:"not recalled from then on"`
		Labels     []APILabel     `json:"labels,omitempty" jsonschema:"what did not come from the owner must say so: untrusted, and from where; at most 8"`
	}
	// APIEdit is what to change of a memory. What is left out stays.
	APIEdit struct {
		Text       *string         `json:"text,omitempty" jsonschema:"what it says from now on; the memory that says it is a new one, which supersedes this"`
		Kind       *agent.FactKind `json:"kind,omitempty"`
		About      *[]APIThing     `json:"about,omitempty"`
		Importance *float64        `json:"importance,omitempty" jsonschema:"0 to 1; with text above 0"`
		Pinned     *bool           `json:"pinned,omitempty" jsonschema:"with text only true"`
		From       APIMoment       `json:"from,omitzero" jsonschema:"true from; null for open"`
		Until      APIMoment       `json:"until,omitzero" jsonschema:"true until; null for open"`
		Expires    APIMoment       `json:"expires,omitzero" jsonschema:"not recalled from then on; null for never, which cannot stand beside text"`
		Labels     []APILabel      `json:"labels,omitempty" jsonschema:"of a text that did not come from the owner; only beside text"`
	}
	// APIHit is something a search found.
	APIHit struct {
		Kind   agent.MemoryKind `json:"kind"`
		Ref    string           `json:"ref" jsonschema:"id of the memory (kind fact) or message; of an episode its conversation's; path of a note"`
		Thread agent.ID         `json:"thread,omitempty" jsonschema:"conversation of a message or episode"`
		Text   string           `json:"text" jsonschema:"what was found, clipped"`
		Source string           `json:"source" jsonschema:"where it is from, for people"`
		Why    []string         `json:"why" jsonschema:"why it matched"`
		Score  float64          `json:"score" jsonschema:"for comparing hits of one search"`
		Time   time.Time        `json:"time,omitzero"`
		Said   string           `json:"said,omitempty" jsonschema:"the time as an import gave it, when that is no date"`
		Labels []APILabel       `json:"labels"`
	}
	// APIHits is what a search found, best first.
	APIHits struct {
		Hits []APIHit `json:"hits"`
	}
	// APITrace is one place that holds what is to be forgotten.
	APITrace struct {
		Key      string           `json:"key" jsonschema:"names it: pass it as trace"`
		Kind     memory.TraceKind `json:"kind"`
		Thread   agent.ID         `json:"thread,omitempty"`
		Text     string           `json:"text,omitempty" jsonschema:"what it says there, clipped"`
		Passages []string         `json:"passages,omitempty" jsonschema:"of a message: what is hidden; of a summary or an episode, which go whole: what of it says it"`
		Whole    bool             `json:"whole,omitempty" jsonschema:"of a message: all of it is hidden"`
		Forget   bool             `json:"forget" jsonschema:"it is forgotten unless trace says otherwise"`
		Manual   bool             `json:"manual,omitempty" jsonschema:"a file of the owner's, which only they change"`
		Time     time.Time        `json:"time,omitzero"`
	}
	// APITraces is what forgetting would do.
	APITraces struct {
		Memory agent.ID   `json:"memory"`
		Plan   string     `json:"plan" jsonschema:"pass it as plan, so that exactly this is forgotten or nothing"`
		Traces []APITrace `json:"traces"`
		More   bool       `json:"more,omitempty" jsonschema:"there are more messages that may repeat it than were looked at"`
	}
	// APIForgotten is what was forgotten and can still be taken back.
	APIForgotten struct {
		ID       agent.ID   `json:"id"`
		Memories []agent.ID `json:"memories" jsonschema:"gone, with their history"`
		Messages int        `json:"messages" jsonschema:"how many have a passage hidden"`
		Threads  []agent.ID `json:"threads" jsonschema:"conversations that are gone"`
		Created  time.Time  `json:"created"`
		Until    time.Time  `json:"undo_until" jsonschema:"final from then on"`
		Undo     string     `json:"undo" jsonschema:"POST to this address takes it back"`
	}
	// APIForgettings is all that can be taken back.
	APIForgettings struct {
		Forgettings []APIForgotten `json:"forgettings"`
	}
)

// versionOf tells the states of a fact apart: it changes with every change.
func versionOf(f agent.Fact) string { return strconv.FormatInt(f.Updated.UnixMicro(), 36) }

// tagOf is the version as an entity tag (RFC 9110, 8.8.3).
func tagOf(f agent.Fact) string { return `"` + versionOf(f) + `"` }

func apiMemory(f agent.Fact) APIMemory {
	m := APIMemory{
		ID: f.ID, Version: versionOf(f), Kind: f.Kind, Status: f.Status, Text: f.Text, About: []APIThing{}, Subject: f.Subject,
		Confidence: f.Confidence, Importance: f.Importance, Pinned: f.Pinned, Said: f.Said, From: f.From, Until: f.Until, Expires: f.Expires,
		Supersedes: f.Supersedes, SupersededBy: f.Successor, Labels: apiLabels(f.Labels), Created: f.Created, Updated: f.Updated,
		Source: APISource{Kind: f.Source.Kind, Via: f.Source.Via, Thread: f.Source.Thread, Message: f.Source.Message, Note: f.Source.Note, Quote: f.Source.Quote},
	}
	for _, e := range f.Entities {
		m.About = append(m.About, APIThing{Name: e.Name, Kind: e.Kind})
	}
	return m
}

// apiLabels gives all that memory holds the label of it: the person's, not to leave the machine unasked.
func apiLabels(l agent.Labels) []APILabel {
	var out []APILabel
	for _, x := range l.Union(agent.Labels{{Source: "memory", Kind: agent.LabelPrivate, Private: true}}) {
		out = append(out, APILabel{Source: x.Source, Kind: x.Kind, Private: x.Private})
	}
	return out
}

func apiHit(r agent.Recollection) APIHit {
	h := APIHit{
		Kind: r.Kind, Ref: r.Ref, Thread: r.Thread, Text: r.Text, Source: r.Source, Why: r.Why, Score: r.Score, Time: r.Time, Said: r.Said,
		Labels: apiLabels(r.Labels),
	}
	if h.Why == nil {
		h.Why = []string{}
	}
	return h
}

func apiTrace(t memory.Trace) APITrace {
	return APITrace{
		Key: t.Key(), Kind: t.Kind, Thread: t.Thread, Text: t.Text, Passages: t.Passages, Whole: t.Whole, Forget: t.Ticked && !t.Manual,
		Manual: t.Manual, Time: t.Time,
	}
}

func apiForgotten(f memory.Forgetting) APIForgotten {
	out := APIForgotten{
		ID: f.ID, Memories: []agent.ID{}, Messages: f.Messages, Threads: []agent.ID{}, Created: f.Created, Until: f.Due,
		Undo: APIPrefix + "/forgettings/" + string(f.ID) + "/undo",
	}
	for _, x := range f.Facts {
		out.Memories = append(out.Memories, x.ID)
	}
	out.Threads = append(out.Threads, f.Threads...)
	return out
}
