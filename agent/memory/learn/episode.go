package learn

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"ash/agent"
)

const (
	maxEpisode = 1500 // bytes of an episode's text
	maxSketch  = 3    // sentences of one made without a model
)

// write sets the episode of a run: what the conversation was about, as far as it has come.
func (r *pass) write(ctx context.Context, d *draft) error {
	if d == nil || strings.TrimSpace(d.text) == "" {
		return nil
	}
	text := agent.Clip(strings.TrimSpace(r.l.o.Redact(d.text)), maxEpisode)
	if gone, err := r.dropped(ctx, text); err != nil {
		return err
	} else if gone {
		return nil // the one there is stays: forgetting has cleaned it
	}
	if len(r.l.o.Inspect(ctx, text)) > 0 {
		return nil
	}
	earlier, err := r.l.earlier(ctx, r.m.thread.ID)
	if err != nil {
		return err
	}
	e := agent.Episode{
		Thread: r.m.thread.ID, Through: r.m.through, Text: text, Entities: tidyEntities(d.entities), Model: d.model, Usage: d.usage,
		Began: r.m.began.UTC(), Ended: r.m.ended.UTC(), Created: r.run.Created,
	}
	if earlier != nil {
		e.Began, e.Labels = earlier.Began, earlier.Labels
		e.Entities = tidyEntities(append(e.Entities, earlier.Entities...))
		if d.model == (agent.ModelRef{}) { // a sketch knows only what is new
			e.Text = agent.Clip(earlier.Text+" "+text, maxEpisode)
		}
	}
	r.episode = &e
	return nil
}

// earlier returns the episode a conversation has; nil for none.
func (l *Learner) earlier(ctx context.Context, thread agent.ID) (*agent.Episode, error) {
	e, err := l.o.Episodes.Episode(ctx, thread)
	if agent.CodeOf(err) == agent.CodeNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &e, nil
}

// sketch makes an episode without a model: the sentences of the person that say most, in their order.
func sketch(m material) *draft {
	type line struct {
		at, words int
		text      string
	}
	var all []line
	names := map[string]int{}
	var order []string
	for _, s := range m.said {
		if !s.Own {
			continue
		}
		for _, c := range clauses(agent.Clip(s.Text, 8<<10)) {
			text := strings.Join(strings.Fields(s.Text[c.from:c.to]), " ")
			if n := len(terms(text)); n > 1 {
				all = append(all, line{len(all), min(n, 14), agent.FirstWords(text, 200)})
			}
			for _, name := range spelled(text) {
				if names[name]++; names[name] == 1 {
					order = append(order, name)
				}
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all[1:], func(a, b line) int { return b.words - a.words }) // the first says what it is about
	best := slices.Clone(all[:min(len(all), maxSketch)])
	slices.SortFunc(best, func(a, b line) int { return a.at - b.at })
	d := &draft{}
	for _, l := range best {
		d.text += " " + l.text
	}
	d.text = strings.TrimSpace(d.text)
	for _, name := range order {
		d.entities = append(d.entities, agent.Entity{Name: name, Kind: agent.EntityThing})
	}
	return d
}

// spelled returns what is written as a name of two words or more inside a sentence, or as one word in a language that does
// not write nouns so.
func spelled(sentence string) []string {
	fields := strings.Fields(sentence)
	german := false
	for _, w := range plainWords(sentence) {
		switch w {
		case "der", "die", "das", "und", "ich", "nicht", "ist", "ein", "eine", "mit", "mein", "meine":
			german = true
		}
	}
	var out []string
	for i := 1; i < len(fields); {
		j := i
		for j < len(fields) && name(fields[j]) && (j == i || !ends(fields[j-1])) {
			j++
		}
		if n := j - i; n > 1 || n == 1 && !german && !ends(fields[i-1]) {
			out = append(out, strings.TrimFunc(strings.Join(fields[i:j], " "), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }))
		}
		i = max(j, i+1)
	}
	return out
}

func name(word string) bool {
	word = strings.TrimLeft(word, `"'(“„`)
	return capital(word) && len(word) > 2 && !strings.ContainsAny(word, "'’")
}

func ends(word string) bool { return strings.ContainsAny(word[len(word)-1:], ".!?:,;") }
