package offline

import (
	"encoding/json"
	"slices"
	"strings"

	"ash/agent"
)

const (
	beside     = 3   // memories quoted beside messages
	wishBegins = 200 // bytes in which a long wish shows that it is one
	listed     = 10  // memories listed when asked what is known
	lookedAt   = 20  // memories looked at for one answer
)

// parseAbout reads "what do you know about …"; words is "" for the person. text is folded.
func parseAbout(text string) (words string, ok bool) {
	text = strings.TrimPrefix(text, "please ")
	for _, p := range []string{
		"what do you know about ", "what do you know of ", "what do you remember about ", "what do you remember of ", "tell me what you know about ",
		"show me what you know about ", "what have you remembered about ", "what did i tell you about ", "memories of ", "memory of ", "what do you know", "what do you remember",
		"was weißt du über ", "was weisst du über ", "was weißt du von ", "was hast du dir gemerkt über ", "was hast du dir gemerkt zu ", "was habe ich dir über ", "erinnerungen an ",
		"was weißt du", "was hast du dir gemerkt",
	} {
		rest, found := strings.CutPrefix(text, p)
		if !found || rest != "" && !strings.HasSuffix(p, " ") {
			continue
		}
		rest = strings.TrimSuffix(strings.TrimSpace(rest), " erzählt")
		switch rest {
		case "me", "myself", "mich", "mir":
			rest = ""
		}
		return rest, true
	}
	return "", false
}

// parseForget reads what follows "forget".
func parseForget(rest string) command {
	rest = strings.TrimSpace(strings.TrimRight(rest, ".!"))
	for _, p := range []string{"that ", "about ", "bitte", ",", "dass ", "daß "} {
		if len(rest) >= len(p) && strings.EqualFold(rest[:len(p)], p) {
			rest = strings.TrimLeft(rest[len(p):], " ,")
		}
	}
	if rest == "" {
		return command{Verb: verbHelp}
	}
	n := 0
	for _, r := range rest {
		if r < '0' || r > '9' || n > listed {
			n = 0
			break
		}
		n = 10*n + int(r-'0')
	}
	if n > 0 {
		return command{Verb: verbForget, Number: n}
	}
	return command{Verb: verbForget, Words: rest}
}

// keep has what the message asks for in so many words remembered, and says whether it asked. One thing at a time: a call takes one.
func (a *answer) keep(words string) bool {
	words = strings.TrimPrefix(strings.TrimSpace(words), "/")
	wishes := a.asked(words)
	if len(wishes) == 0 {
		return a.tooMuch(words)
	}
	if !a.has("remember") {
		a.say("There is no memory in this chat, so I cannot keep that.\n")
		return true
	}
	w := wishes[0]
	arguments, err := json.Marshal(struct {
		Text string `json:"text"`
		Core bool   `json:"core,omitempty"`
	}{w.Text, w.Core})
	if err != nil {
		return false
	}
	a.call = &agent.CallPiece{Name: "remember", Arguments: string(arguments)}
	if len(wishes) > 1 {
		a.say("One thing at a time: I begin with the first. The rest is taken up when this conversation rests, or tell me again.\n")
	}
	return true
}

// tooMuch says of a wish that nobody reads a statement in because it is so long that it is, instead of looking for its words.
func (a *answer) tooMuch(words string) bool {
	if len(words) < 2*wishBegins || len(a.asked(agent.Clip(words, wishBegins))) == 0 {
		return false
	}
	a.say("That is too long to keep as one memory. Tell me the heart of it in a sentence, and put the whole into a note: the Memory page has them.\n")
	return true
}

func (a *answer) has(tool string) bool {
	return slices.ContainsFunc(a.tools, func(t agent.ToolSpec) bool { return t.Name == tool })
}

// settled says in a sentence what a tool of memory did; false for any other.
func (a *answer) settled(tool string) bool {
	switch tool {
	case "remember":
		a.say("I keep that in mind. It stands on the Memory page, where you can change it or have it forgotten.\n")
	case "forget":
		a.say("That is forgotten. For a while you can take it back on the Memory page.\n")
	default:
		return false
	}
	return true
}

// own leaves out what strangers may have written, and counts it.
func own(list []agent.Recollection) (mine []agent.Recollection, foreign int) {
	for _, r := range list {
		if r.Labels.Untrusted() {
			foreign++
			continue
		}
		mine = append(mine, r)
	}
	return mine, foreign
}

// recall asks memory, and says so when that fails.
func (a *answer) recall(words string, kinds ...agent.MemoryKind) (mine []agent.Recollection, foreign int, ok bool) {
	if a.memory == nil {
		return nil, 0, false
	}
	list, err := a.memory.Recall(a.ctx, words, kinds, lookedAt)
	switch {
	case a.ctx.Err() != nil:
		return nil, 0, false // Stream reports it
	case err != nil:
		a.say("Looking through memory failed: %s\n\n", agent.PublicOf(err))
		return nil, 0, false
	}
	mine, foreign = own(list)
	return mine, foreign, true
}

// recollect quotes the facts, notes and episodes that words bring back, before the messages that hold them.
func (a *answer) recollect(words string) {
	mine, _, ok := a.recall(words)
	if !ok || len(mine) == 0 {
		return
	}
	mine = mine[:min(len(mine), beside)]
	a.recalled = len(mine)
	a.say("From memory:\n\n")
	for _, r := range mine {
		a.memoryOf(r)
	}
}

// memoryOf quotes one memory with where it is from.
func (a *answer) memoryOf(r agent.Recollection) {
	a.say("%s:\n\n", a.origin(r))
	blockquote(&a.text, r.Text)
}

// origin says where a memory is from.
func (a *answer) origin(r agent.Recollection) string {
	day := r.Said
	if !r.Time.IsZero() {
		day = r.Time.In(a.now.Location()).Format("2 January 2006")
	}
	what := "A fact"
	switch r.Kind {
	case agent.MemoryNote:
		what, day = "The note **"+escape(oneLine(r.Source))+"**", ""
	case agent.MemoryEpisode:
		what = "A conversation, in short"
	case agent.MemoryMessage:
		what = "Said"
	}
	if day == "" {
		return what
	}
	return what + ", " + escape(oneLine(day))
}

// about lists what is remembered of something, or of the person.
func (a *answer) about(words string) {
	if a.memory == nil {
		a.say("There is no memory in this chat.\n")
		return
	}
	facts, foreign, ok := a.facts(words)
	if !ok {
		return
	}
	subject := "about “" + escape(oneLine(words)) + "”"
	if words == "" {
		subject = "about you"
	}
	if len(facts) == 0 {
		a.say("I remember no fact %s.\n", subject)
	} else {
		a.say("This is what I remember %s:\n\n", subject)
		a.list(facts)
		a.say("Type `forget N` to have one of them forgotten, or open the Memory page to change them.\n")
	}
	if words != "" {
		rest, more, _ := a.recall(words, agent.MemoryNote, agent.MemoryEpisode)
		foreign += more
		if len(rest) > 0 {
			a.say("\nThis stands elsewhere:\n\n")
		}
		for _, r := range rest[:min(len(rest), beside)] {
			a.memoryOf(r)
		}
	}
	a.strangers(foreign)
}

// strangers tells of memories that are not quoted.
func (a *answer) strangers(n int) {
	switch {
	case n == 1:
		a.say("\nOne more is from a page, a mail or an import; the Memory page shows it.\n")
	case n > 1:
		a.say("\n%d more are from pages, mails or imports; the Memory page shows them.\n", n)
	}
}

// facts returns the facts that words bring back; all of the person's for "".
func (a *answer) facts(words string) (mine []agent.Recollection, foreign int, ok bool) {
	if words != "" {
		mine, foreign, ok = a.recall(words, agent.MemoryFact)
		return mine[:min(len(mine), listed)], foreign, ok
	}
	if a.memory == nil {
		return nil, 0, false
	}
	list, err := a.memory.Mine(a.ctx, listed)
	if err != nil {
		if a.ctx.Err() == nil {
			a.say("Looking through memory failed: %s\n", agent.PublicOf(err))
		}
		return nil, 0, false
	}
	mine, foreign = own(list)
	return mine, foreign, true
}

func (a *answer) list(facts []agent.Recollection) {
	for i, f := range facts {
		a.say("%d. %s:\n\n", i+1, a.origin(f))
		snippet(&a.text, i+1, []agent.SnippetPart{{Text: f.Text}})
		a.say("\n")
	}
}

// forget asks for a fact to be forgotten, when it is plain which; else it lists those that may be meant.
func (a *answer) forget(c command) {
	if a.memory == nil || !a.has("forget") {
		a.say("There is no memory in this chat that could forget. Use the Memory page.\n")
		return
	}
	words := c.Words
	if c.Number > 0 {
		var ok bool
		if words, ok = a.talk.listed(); !ok {
			a.say("There is no list to choose from. Ask `what do you know about …` first.\n")
			return
		}
	}
	facts, foreign, ok := a.facts(words)
	switch {
	case !ok:
		return
	case c.Number > len(facts):
		a.say("The list has only %s.\n", count(len(facts), "fact"))
		return
	case c.Number > 0:
		a.gone(facts[c.Number-1])
		return
	}
	if meant := slices.DeleteFunc(slices.Clone(facts), func(r agent.Recollection) bool { return !holdsAll(r.Text, words) }); len(meant) == 1 {
		a.gone(meant[0])
		return
	}
	if len(facts) == 0 {
		a.say("I remember no fact about “%s”. Messages that say it can be forgotten on the Memory page.\n", escape(oneLine(words)))
		a.strangers(foreign)
		return
	}
	a.say("Which of these do you mean?\n\n")
	a.list(facts)
	a.say("Type `forget N`. Before anything goes I show you all that would.\n")
	a.strangers(foreign)
}

// gone makes the call that forgets; policy asks, and shows all that would go.
func (a *answer) gone(r agent.Recollection) {
	arguments, err := json.Marshal(map[string]string{"id": r.Ref})
	if err != nil {
		return
	}
	a.call = &agent.CallPiece{Name: "forget", Arguments: string(arguments)}
}

// holdsAll reports whether a text has all words that say something.
func holdsAll(text, words string) bool {
	have := keywordSet(text)
	keys := keywords(words)
	for _, k := range keys {
		if !have[k] {
			return false
		}
	}
	return len(keys) > 0
}

func keywordSet(text string) map[string]bool {
	out := map[string]bool{}
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), notWord) {
		out[word] = true
	}
	return out
}

// listed returns what the list was about that a number refers to: that of the last question of what is known, or of what to
// forget.
func (t talk) listed() (words string, ok bool) {
	for i := len(t.earlier) - 1; i >= 0; i-- {
		switch c := parse(t.earlier[i]); {
		case c.Verb == verbAbout, c.Verb == verbForget && c.Number == 0:
			return c.Words, true
		}
	}
	return "", false
}
