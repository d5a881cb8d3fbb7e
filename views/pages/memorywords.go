package pages

import (
	"net/url"
	"strconv"

	"ash/agent"
	"ash/views/components"
)

// searchIn is the address of a tab, with the search that is on.
func searchIn(t MemoryTab, query string) string {
	if query == "" || t == TabNotes || t == TabWaiting {
		return t.url()
	}
	q := url.Values{"q": {query}}
	if t != TabAll {
		q.Set("tab", string(t))
	}
	return "/memory?" + q.Encode()
}

func (p Memory) further() string {
	if p.Query != "" {
		return "More results"
	}
	return "Earlier"
}

// What an empty tab says: what it is for, and the one next step.

func emptyTitle(t MemoryTab) string {
	switch t {
	case TabCore:
		return "Who you are"
	case TabFacts:
		return "What you told Ash"
	case TabEpisodes:
		return "What you talked about"
	case TabPatterns:
		return "What keeps coming back"
	case TabWaiting:
		return "Nothing waits for your word"
	}
	return "Nothing is remembered yet"
}

func emptyPurpose(t MemoryTab) string {
	switch t {
	case TabCore:
		return "A few things Ash keeps in mind with every answer: your name, where you live, how you like to be answered."
	case TabFacts:
		return "Facts come from what you say, each with the sentence it came from. Ash recalls them when they help, and you can correct or forget each one."
	case TabEpisodes:
		return "When a conversation rests, Ash writes down in a few lines what it was about. You find it here, and Ash finds it again."
	case TabPatterns:
		return "When something recurs over several conversations, Ash offers it here as a pattern. It is never taken for granted."
	case TabWaiting:
		return "What Ash would remember but may not keep without you stands here: what it is unsure of, and all that a stranger may have written."
	}
	return "Tell Ash in a conversation, or write it down here. Ash recalls it when it helps; you correct it, and forget it for good."
}

func emptyNext(t MemoryTab) string {
	switch t {
	case TabEpisodes, TabPatterns:
		return "Start a conversation"
	case TabWaiting:
		return "See what is remembered"
	case TabCore:
		return "Tell Ash who you are"
	}
	return "Remember something"
}

func emptyURL(t MemoryTab) string {
	switch t {
	case TabEpisodes, TabPatterns:
		return "/chat/new"
	case TabWaiting:
		return "/memory"
	case TabCore:
		return "/memory/new?kind=core"
	}
	return "/memory/new"
}

func (p MemoryFact) wording() string {
	if p.Mine != "" {
		return p.Mine
	}
	return p.Text
}

// kindsWith is what the form of a fact offers: a pattern may stay one.
func kindsWith(now agent.FactKind) []Choice {
	if now == agent.FactPattern {
		return append(FactKinds(), Choice{string(agent.FactPattern), "A pattern: offered, not asserted"})
	}
	return FactKinds()
}

func (p MemoryEntity) sub() string {
	s := components.Plural(p.Facts, "fact", "facts")
	if also := p.also(); also != "" {
		s = also + " · " + s
	}
	return s
}

// also is what else is known of a name: what it is, and what it goes by.
func (e EntityRow) also() string {
	s := e.Kind
	if e.Aliases != "" {
		if s != "" {
			s += " · "
		}
		s += "also " + e.Aliases
	}
	return s
}

func traceID(i, j int) string { return "trace-" + strconv.Itoa(i) + "-" + strconv.Itoa(j) }

func runsURL(kind string) string {
	if kind == "" {
		return "/memory/runs"
	}
	return "/memory/runs?kind=" + kind
}

func growthURL(span string) string {
	if span == "" {
		return "/memory/growth"
	}
	return "/memory/growth?span=" + span
}
