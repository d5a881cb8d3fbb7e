package archive

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"ash/agent"
)

// Bounds of what stands in lines, in bytes.
const (
	maxLabel   = 256
	maxEntity  = 120
	maxEpisode = 64 << 10
	maxHashes  = 4096
)

// check holds everything that was read to what Ash keeps: an archive is another program's word until then.
func (a *Archive) check() error {
	m := &a.Memory
	c := checker{seen: map[string]bool{}}
	for _, f := range m.Facts {
		c.id("fact", f.ID)
		c.fact(f)
	}
	for _, e := range m.Entities {
		c.id("entity", e.ID)
		c.entity(e)
	}
	for _, t := range m.Conversations {
		c.id("conversation", t.ID)
		c.when("conversation", t.Created, t.Updated)
		c.text("the title of a conversation", t.Title, 4096)
	}
	c.episodes(m)
	for _, r := range m.Runs {
		c.id("run", r.ID)
		c.run(r)
	}
	for _, p := range m.Proposals {
		c.id("proposal", p.ID)
		c.must(p.Action == agent.ActionKeep || p.Action == agent.ActionRetire, "a proposal to %q", p.Action)
		c.when("proposal", p.Created)
		c.text("the reason of a proposal", p.Why, 1<<16)
		c.link(p.Fact.ID)
		c.fact(p.Fact)
	}
	c.tombstones(m)
	c.notes(a)
	if c.wrong != "" {
		return agent.Errorf(agent.CodeInvalid, "The archive holds what Ash cannot keep: %s. Nothing was taken in.", c.wrong)
	}
	return nil
}

// checker remembers the first thing that is wrong.
type checker struct {
	seen  map[string]bool
	wrong string
}

func (c *checker) must(ok bool, format string, args ...any) {
	if !ok && c.wrong == "" {
		c.wrong = fmt.Sprintf(format, args...)
	}
}

// id checks an id that has to be there, once.
func (c *checker) id(kind string, id agent.ID) {
	_, err := agent.ParseID(string(id))
	c.must(err == nil, "a %s with the id %.40q", kind, id)
	c.must(!c.seen[kind+string(id)], "the %s %.40q twice", kind, id)
	c.seen[kind+string(id)] = true
}

// link checks ids that may be missing.
func (c *checker) link(ids ...agent.ID) {
	for _, id := range ids {
		_, err := agent.ParseID(string(id))
		c.must(id == "" || err == nil, "a reference to %.40q", id)
	}
}

func (c *checker) text(what, s string, limit int) {
	c.must(len(s) <= limit, "%s of more than %d bytes", what, limit)
	c.must(utf8.ValidString(s) && !strings.Contains(s, "\x00"), "%s with damaged characters", what)
}

func (c *checker) when(what string, times ...time.Time) {
	for _, t := range times {
		c.must(t.IsZero() || t.Year() > 0 && t.Year() < 10000, "a %s of the year %d", what, t.Year())
	}
}

func (c *checker) labels(l agent.Labels) {
	for _, x := range l {
		c.must(x.Kind == agent.LabelUntrusted || x.Kind == agent.LabelPrivate, "a label of the kind %.40q", x.Kind)
		c.text("a label's source", x.Source, maxLabel)
	}
}

func (c *checker) entity(e agent.Entity) {
	c.must(slices.Contains([]agent.EntityKind{agent.EntityPerson, agent.EntityPlace, agent.EntityProject, agent.EntityThing}, e.Kind), "an entity of the kind %.40q", e.Kind)
	for _, name := range append([]string{e.Name}, e.Aliases...) {
		c.text("a name", name, maxEntity)
		c.must(strings.TrimSpace(name) != "", "an entity without a name")
	}
}

func (c *checker) fact(f agent.Fact) {
	c.must(slices.Contains([]agent.FactKind{agent.FactCore, agent.FactPlain, agent.FactPattern}, f.Kind), "a fact of the kind %.40q", f.Kind)
	c.must(slices.Contains([]agent.FactStatus{agent.FactCurrent, agent.FactSuperseded, agent.FactRetired}, f.Status), "a fact of the status %.40q", f.Status)
	c.must(slices.Contains([]agent.SourceKind{agent.SourceMessage, agent.SourcePerson, agent.SourceNote, agent.SourceImport, agent.SourceMemories}, f.Source.Kind), "a fact from %.40q", f.Source.Kind)
	c.must(strings.TrimSpace(f.Text) != "", "a fact without text")
	c.text("a fact", f.Text, agent.MaxFact)
	c.text("a subject", f.Subject, agent.MaxFact)
	c.text("a quote", f.Source.Quote, agent.MaxFact)
	c.text("a note's path", f.Source.Note, maxPath)
	c.text("a means", f.Source.Via, maxPath)
	c.must(f.Confidence >= 0 && f.Confidence <= 1 && f.Importance >= 0 && f.Importance <= 1, "a fact with a confidence or importance that is not between 0 and 1")
	c.must(f.Status != agent.FactCurrent || f.Successor == "", "a fact that holds although another took its place")
	c.when("fact", f.Said, f.From, f.Until, f.Expires, f.Created, f.Updated)
	c.link(f.Successor, f.Source.Thread, f.Source.Message, f.Source.Run)
	c.link(f.Supersedes...)
	c.labels(f.Labels)
	for _, e := range f.Entities {
		c.link(e.ID)
		c.entity(e)
	}
}

func (c *checker) episodes(m *Memory) {
	for _, e := range m.Episodes {
		c.id("episode", e.Thread)
		c.must(c.seen["conversation"+string(e.Thread)], "an episode of a conversation that is not listed")
		c.link(e.Through)
		c.text("an episode", e.Text, maxEpisode)
		c.labels(e.Labels)
		c.when("episode", e.Began, e.Ended, e.Created)
		for _, x := range e.Entities {
			c.link(x.ID)
			c.entity(x)
		}
	}
}

func (c *checker) run(r agent.MemoryRun) {
	c.must(r.Kind == agent.RunLearn || r.Kind == agent.RunConsolidate, "a run of the kind %.40q", r.Kind)
	c.link(r.Thread, r.Through)
	c.when("run", r.Undone, r.Created)
	for _, x := range r.Changes {
		c.link(x.Fact)
		for _, f := range []*agent.Fact{x.Before, x.After} {
			if f != nil {
				c.must(f.ID == x.Fact, "a change of one fact that is about another")
				c.fact(*f)
			}
		}
	}
}

func (c *checker) tombstones(m *Memory) {
	for _, k := range m.Keys {
		c.must(len(k.Key) == KeySize && NewKey(k.Key).ID == k.ID, "a key that is not what it is named")
		c.must(!c.seen["key"+k.ID], "a key twice")
		c.seen["key"+k.ID] = true
	}
	for _, t := range m.Tombstones {
		c.id("tombstone", t.ID)
		c.must(len(t.Hashes) > 0 && len(t.Hashes) <= maxHashes, "a tombstone with %d hashes", len(t.Hashes))
		for _, h := range t.Hashes {
			c.must(len(h) == HashSize, "a tombstone's hash of %d bytes", len(h))
		}
		c.must(len(t.Vector) <= 1<<20, "a tombstone's meaning of %d bytes", len(t.Vector))
		c.must(len(t.Key) == 16, "a tombstone of no key")
		c.text("a space", t.Space, 4096)
		c.when("tombstone", t.Created)
	}
}

// HashSize is the length of a tombstone's hash, in bytes.
const HashSize = 16

func (c *checker) notes(a *Archive) {
	for _, r := range a.Memory.Records {
		c.must(!c.seen["record"+r.Path] && len(r.Path) <= maxPath && r.Path != "", "what is known of a note without a name, or twice")
		c.seen["record"+r.Path] = true
		c.text("what is known of a note", r.Path+r.Hash, 2*maxPath)
		c.labels(r.Labels)
	}
	for _, n := range a.Memory.Notes {
		_, there := a.files[notesFolder+n.Path]
		c.must(there, "a note %.120q that is not there", n.Path)
		c.must(!c.seen["note"+n.Path], "the note %.120q twice", n.Path)
		c.seen["note"+n.Path] = true
		c.when("note", n.Modified)
	}
	for name := range a.files {
		if path, ok := strings.CutPrefix(name, notesFolder); ok {
			c.must(c.seen["note"+path], "a note %.120q that is not listed", path)
		}
	}
}
