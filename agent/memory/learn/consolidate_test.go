package learn_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/memory/learn"
)

func (h *house) Facts(_ context.Context, f agent.FactFilter) ([]agent.Fact, string, error) {
	list := h.current()
	from := 0
	if f.After != "" {
		_, _ = fmt.Sscan(f.After, &from)
	}
	to := min(from+f.Limit, len(list))
	next := ""
	if to < len(list) {
		next = fmt.Sprint(to)
	}
	return list[from:to], next, nil
}

func (h *house) RecentEpisodes(_ context.Context, since time.Time, limit int) ([]agent.Episode, error) {
	var out []agent.Episode
	for i := range 100 {
		if e, ok := h.episodes[agent.ID(fmt.Sprint("t", i))]; ok && e.Ended.After(since) && len(out) < limit {
			out = append(out, e)
		}
	}
	return out, nil
}

func (h *house) Consolidated(context.Context) (time.Time, error) {
	for i := len(h.runs) - 1; i >= 0; i-- {
		if h.runs[i].Kind == agent.RunConsolidate && h.runs[i].Failure == nil {
			return h.runs[i].Created, nil
		}
	}
	return time.Time{}, nil
}

// told adds facts, the latest said first as the store lists them.
func (h *house) told(texts ...string) {
	for i, text := range texts {
		h.fact(text, func(f *agent.Fact) {
			f.Said = time.Now().Add(-time.Duration(i) * time.Hour).UTC()
			f.Created = f.Said
			switch {
			case strings.HasPrefix(text, "[pinned] "):
				f.Text, f.Pinned = strings.TrimPrefix(text, "[pinned] "), true
			case strings.HasPrefix(text, "[foreign] "):
				f.Text, f.Labels = strings.TrimPrefix(text, "[foreign] "), untrusted
			case strings.HasPrefix(text, "[expired] "):
				f.Text, f.Expires = strings.TrimPrefix(text, "[expired] "), time.Now().Add(-time.Hour)
			case strings.HasPrefix(text, "[pinned expired] "):
				f.Text, f.Pinned, f.Expires = strings.TrimPrefix(text, "[pinned expired] "), true, time.Now().Add(-time.Hour)
			}
		})
	}
}

func tidy(t *testing.T, h *house, change func(*learn.Options)) learn.Outcome {
	t.Helper()
	out, err := h.learner(func(o *learn.Options) {
		o.Shelf = h
		if change != nil {
			change(o)
		}
	}).Consolidate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTidies(t *testing.T) {
	for name, tt := range map[string]struct {
		facts   []string
		answer  string
		current string
		waiting string
	}{
		"twice":            {[]string{"I own the red bike.", "I own a red bike", "I own a bike"}, "", "I own the red bike.|I own a bike", ""},
		"other tense":      {[]string{"I had a dog", "I have a dog"}, "", "I had a dog|I have a dog", ""},
		"other order":      {[]string{"Anna likes Bob", "Bob likes Anna"}, "", "Anna likes Bob|Bob likes Anna", ""},
		"expired":          {[]string{"I like tea", "[expired] The sale is on"}, "", "I like tea", ""},
		"pinned":           {[]string{"[pinned] I own a red bike", "[pinned] I own the red bike", "[pinned expired] The sale is on"}, "", "I own a red bike|I own the red bike|The sale is on", ""},
		"into the pinned":  {[]string{"I own the red bike", "[pinned] I own a red bike"}, "", "I own a red bike", ""},
		"foreign apart":    {[]string{"[foreign] I own the red bike", "I own a red bike"}, "", "I own the red bike|I own a red bike", ""},
		"two values":       {[]string{"My dentist is Dr. Braun", "My dentist is Dr. Weiss", "My friend is Anna", "My friend is Bo"}, "", "My dentist is Dr. Braun|My dentist is Dr. Weiss|My friend is Anna|My friend is Bo", "retire My dentist is Dr. Weiss"},
		"same":             {[]string{"I like to drink green tea", "I like green tea to drink best"}, `{"same":["p1"]}`, "I like to drink green tea", ""},
		"same, not asked":  {[]string{"I like to drink green tea", "I like green tea to drink best"}, `{"same":["p2","p0","x"]}`, "I like to drink green tea|I like green tea to drink best", ""},
		"same but a name":  {[]string{"I like tea from Assam best", "I like tea from Kenya best"}, `{"same":["p1"]}`, "I like tea from Assam best|I like tea from Kenya best", "retire I like tea from Kenya best"},
		"overtaken":        {[]string{"I go running on two mornings", "I go running on three mornings"}, `{"outdated":[{"pair":"p1","old":"b"}]}`, "I go running on two mornings|I go running on three mornings", "retire I go running on three mornings"},
		"nothing readable": {[]string{"I like to drink green tea", "I like green tea to drink best"}, `no`, "I like to drink green tea|I like green tea to drink best", ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse()
			if tt.answer != "" {
				h.answers(tt.answer)
			}
			h.told(tt.facts...)
			out := tidy(t, h, nil)
			if h.texts() != tt.current || h.waiting() != tt.waiting {
				t.Errorf("\ncurrent %q\nwant    %q\nwaiting %q\nwant    %q", h.texts(), tt.current, h.waiting(), tt.waiting)
			}
			if len(h.prompts) > 1 || (tt.answer == "no") != (out.Run.Failure != nil) {
				t.Errorf("%d calls, failure %v", len(h.prompts), out.Run.Failure)
			}
			for _, c := range out.Run.Changes {
				if c.Before == nil || c.After == nil {
					t.Errorf("it cannot be undone: %+v", c)
				}
			}
			// What was offered or looked at is not offered or asked about again.
			before := len(h.proposals)
			calls := len(h.prompts)
			if tidy(t, h, nil); len(h.proposals) != before || tt.answer != "no" && len(h.prompts) != calls {
				t.Errorf("again: %s, %d calls", h.waiting(), len(h.prompts))
			}
		})
	}
}

func (h *house) talked(n int, text string, names ...string) {
	for i := range n {
		e := agent.Episode{Thread: agent.ID(fmt.Sprint("t", len(h.episodes))), Text: text, Ended: time.Now().Add(-time.Duration(7*24*(i+1)) * time.Hour), Created: time.Now()}
		for _, name := range names {
			e.Entities = append(e.Entities, agent.Entity{Name: name, Kind: agent.EntityThing})
		}
		h.episodes[e.Thread] = e
	}
}

func TestPatterns(t *testing.T) {
	h := newHouse()
	h.talked(4, "About yoga", "Yoga")
	h.talked(3, "About tax", "Tax")
	tidy(t, h, nil)
	if got := h.waiting(); !strings.HasPrefix(got, "keep Yoga often comes up on ") || len(h.proposals) != 1 {
		t.Error(got)
	}
	p := h.proposals[0].Fact
	if p.Kind != agent.FactPattern || p.Source.Kind != agent.SourceMemories || len(p.Entities) != 1 || len(h.current()) != 0 {
		t.Errorf("%+v", p)
	}
	tidy(t, h, nil)
	if len(h.proposals) != 1 {
		t.Error("offered twice")
	}

	h = newHouse()
	h.talked(4, "We planned the yoga week", "Yoga")
	h.answers(`{"patterns":[{"text":"You plan yoga every week","episodes":["e1","e2","e3"]},{"text":"You like cats","episodes":["e1","e2","e3"]},{"text":"You plan yoga","episodes":["e1","e1","e9"]}]}`)
	tidy(t, h, nil)
	if got := h.waiting(); got != "keep You plan yoga every week" {
		t.Error(got)
	}
	h.prompts = nil
	e := h.episodes["t0"]
	e.Labels, e.Text = untrusted, "POISON"
	h.episodes["t0"] = e
	h.runs = nil
	tidy(t, h, nil)
	if len(h.prompts) != 1 || strings.Contains(h.prompts[0], "POISON") {
		t.Error("something untrusted stands in the call")
	}
}

func TestConsolidateOff(t *testing.T) {
	h := newHouse()
	h.answers(`{"same":["p1"]}`)
	h.told("I own a red bike", "I own the red bike", "[expired] The sale is on")
	tidy(t, h, func(o *learn.Options) { o.Mode = func() learn.Mode { return learn.Off } })
	if h.texts() != "I own a red bike|I own the red bike" || len(h.prompts) != 0 {
		t.Error(h.texts())
	}
}

func TestConsolidateMany(t *testing.T) {
	h := newHouse()
	for i := range 5000 {
		h.told(fmt.Sprintf("I bought the %d red bike of my uncle number %d", i, i%7))
	}
	begun := time.Now()
	tidy(t, h, nil)
	if len(h.current()) != 5000 {
		t.Errorf("%d left", len(h.current()))
	}
	t.Logf("5,000 facts in %v", time.Since(begun))
}
