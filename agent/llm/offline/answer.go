package offline

import (
	"context"
	"fmt"
	"strings"
	"time"

	"ash/agent"
)

const (
	pageSize  = 5   // results shown at a time
	maxHits   = 100 // results looked at for one search
	maxResult = 4000
)

// answer is one reply while it is put together.
type answer struct {
	ctx     context.Context
	library Library
	memory  Memory
	asked   func(text string) []Wish
	now     time.Time
	talk    talk
	tools   []agent.ToolSpec

	recalled int // memories that were quoted
	text     strings.Builder
	call     *agent.CallPiece
}

func (a *answer) say(format string, args ...any) { fmt.Fprintf(&a.text, format, args...) }

// compose writes the answer to the newest message.
func (a *answer) compose() {
	if len(a.talk.results) > 0 {
		a.report()
		return
	}
	a.attachments()
	if a.talk.words == "" {
		if len(a.talk.attachments) == 0 {
			a.say("That was all I have to say about it. Type `help` to see what I can do.\n")
		}
		return
	}
	if a.keep(a.talk.words) {
		return
	}
	switch c := parse(a.talk.words); c.Verb {
	case verbGreet:
		a.greet()
	case verbThanks:
		a.say("You are welcome. Type `help` to see what else I can do without a language model.\n")
	case verbHelp:
		a.help()
	case verbSetup:
		a.setup()
	case verbDate:
		_, week := a.now.ISOWeek()
		a.say("It is %s, week %d of the year.\n", a.now.Format("Monday, 2 January 2006, 15:04 (MST)"), week)
	case verbTools:
		a.listTools()
	case verbTool:
		a.use(c)
	case verbFind:
		a.find(c.Words, 0)
	case verbMore:
		a.more()
	case verbQuote:
		a.quote(c)
	case verbAbout:
		a.about(c.Words)
	case verbForget:
		a.forget(c)
	default:
		a.wonder(c.Words)
	}
}

// greet says hello by the clock, and the first time what this is.
func (a *answer) greet() {
	daytime := "Good evening"
	switch h := a.now.Hour(); {
	case h >= 4 && h < 12:
		daytime = "Good morning"
	case h >= 12 && h < 18:
		daytime = "Good afternoon"
	}
	if a.talk.answered > 0 {
		a.say("%s again. I am still the offline model; type `help` to see what I can do, or `setup` for how to get a language model.\n", daytime)
		return
	}
	a.say("%s, I am Ash. ", daytime)
	a.setup()
	a.say("\nMeanwhile I can find and quote what is stored: type `help`.\n")
}

func (a *answer) setup() {
	a.say(`This is the **offline model**: no language model is set up for this chat, so I cannot think, write or look anything up on the web. To change that, open **Settings → Models** and either

1. **use a model on this machine**, free and private: install [Ollama](https://ollama.com/download), run ` + "`ollama pull qwen3:8b`" + ` (LM Studio and llama.cpp work as well), then choose it there; or
2. **use a provider with a key**: paste the key there, or set its variable, such as ` + "`ANTHROPIC_API_KEY`, `OPENAI_API_KEY` or `GEMINI_API_KEY`" + `, before Ash starts.
`)
}

func (a *answer) help() {
	a.say(`Without a language model I understand these:

| Write | and I |
|---|---|
| ` + "`find WORDS`" + ` | look through everything stored |
| ` + "`more`" + ` | show further results |
| ` + "`quote N`" + ` | quote result N of the last search at length |
| ` + "`quote WORDS`" + ` | quote the best result for the words |
| ` + "`remember that …`" + ` | keep it in memory |
| ` + "`what do you know about …`" + ` | list what I remember of it |
| ` + "`forget …`" + ` | find what I remember of it, and ask before it goes |
| ` + "`date`" + ` | tell the date and time |
| ` + "`tools`" + ` | list the tools there are |
| ` + "`tool NAME {json}`" + ` | use a tool with these arguments |
| ` + "`/run COMMAND`, `/fetch URL`, `/web WORDS`, `/read FILE`, `/list FOLDER`" + ` | use the usual tools |
| ` + "`setup`" + ` | explain how to get a language model |

Anything else I take as words to look for.
`)
}

// attachments is honest about what came along.
func (a *answer) attachments() {
	if len(a.talk.attachments) == 0 {
		return
	}
	names := make([]string, 0, len(a.talk.attachments))
	for _, n := range a.talk.attachments {
		names = append(names, "“"+escape(agent.Clip(n, 200))+"”")
	}
	a.say("I have kept %s, but I cannot look into attachments: that takes a language model (type `setup`).\n\n", strings.Join(names, ", "))
}

// wonder answers what is no command: it looks for the words and says what it is.
func (a *answer) wonder(words string) {
	if a.talk.answered == 0 {
		a.setup()
		a.say("\n")
	} else {
		a.say("I cannot answer that without a language model (type `setup` for how to get one). ")
	}
	keys := keywords(words)
	if len(keys) == 0 {
		a.say("There is also nothing in it I could look for. Type `help` to see what I can do.\n")
		return
	}
	a.find(strings.Join(keys, " "), 0)
}

// hits looks for words, without what stands in this conversation anyway. When nothing holds all of them, each is looked for alone.
func (a *answer) hits(words string) (found []agent.SearchHit, loose bool, err error) {
	queries := []string{words}
	if keys := keywords(words); len(keys) > 1 {
		queries = append(queries, keys...)
	}
	seen := map[agent.ID]bool{}
	for i, q := range queries {
		if i > 0 && len(found) > 0 && !loose {
			break
		}
		some, err := a.library.Search(a.ctx, q, maxHits)
		if err != nil {
			return nil, false, err
		}
		for _, h := range some {
			id := h.Message
			if id == "" {
				id = h.Thread.ID
			}
			if !seen[id] && !a.talk.known(h) && h.By != Name { // its own answers quote what is found anyway
				seen[id] = true
				found = append(found, h)
				loose = i > 0
			}
		}
	}
	return found, loose, nil
}

func snippetText(h agent.SearchHit) string {
	var b strings.Builder
	for _, p := range h.Snippet {
		b.WriteString(p.Text)
	}
	return b.String()
}

// search runs hits and says so when there is nothing to go on with.
func (a *answer) search(words string) (found []agent.SearchHit, loose, ok bool) {
	if a.library == nil {
		if a.recalled > 0 {
			return nil, false, false
		}
		a.say("There is nothing stored that I could look through.\n")
		return nil, false, false
	}
	found, loose, err := a.hits(words)
	switch {
	case a.ctx.Err() != nil:
		return nil, false, false // Stream reports it
	case err != nil:
		a.say("Looking for “%s” failed: %s\n", escape(oneLine(words)), agent.PublicOf(err))
		return nil, false, false
	case len(found) == 0 && a.recalled > 0:
		a.say("No other conversation mentions “%s”.\n", escape(oneLine(words)))
		return nil, false, false
	case len(found) == 0:
		a.say("Beyond this conversation nothing stored mentions “%s”. Try other words, or fewer.\n", escape(oneLine(words)))
		return nil, false, false
	}
	return found, loose, true
}

// find lists a page of results.
func (a *answer) find(words string, page int) {
	if page == 0 {
		a.recollect(words)
	}
	found, loose, ok := a.search(words)
	if !ok {
		return
	}
	from := page * pageSize
	if from >= len(found) {
		a.say("There are no further results for “%s”.\n", escape(oneLine(words)))
		return
	}
	to := min(from+pageSize, len(found))
	switch {
	case page > 0:
		a.say("Results %d to %d for “%s”:\n\n", from+1, to, escape(oneLine(words)))
	case loose:
		a.say("Nothing stored holds all of “%s”; with some of it I found %s:\n\n", escape(oneLine(words)), count(len(found), "place"))
	default:
		a.say("For “%s” I found %s:\n\n", escape(oneLine(words)), count(len(found), "place"))
	}
	for i, h := range found[from:to] {
		a.say("%d. %s, %s\n\n", from+i+1, a.source(h), h.Created.In(a.now.Location()).Format("2 January 2006"))
		snippet(&a.text, from+i+1, h.Snippet)
		a.say("\n")
	}
	if to < len(found) {
		a.say("Type `more` for further results, or `quote %d` for one at length.\n", from+1)
	} else {
		a.say("Type `quote %d` for one at length.\n", from+1)
	}
}

// source says where a hit stands.
func (a *answer) source(h agent.SearchHit) string {
	title := strings.TrimSpace(h.Thread.Title)
	if title == "" {
		title = "Untitled"
	}
	title = "**" + escape(oneLine(title)) + "**"
	switch {
	case h.Message == "":
		return "the chat " + title
	case h.Role == agent.RoleUser:
		return "you in " + title
	}
	return "an answer in " + title
}

func (a *answer) more() {
	words, pages := a.talk.search()
	if words == "" {
		a.say("There is no search to go on with. Begin one with `find WORDS`.\n")
		return
	}
	a.find(words, pages+1)
}

// quote gives one result at length.
func (a *answer) quote(c command) {
	words, number := c.Words, max(c.Number, 1)
	if words == "" {
		if words, _ = a.talk.search(); words == "" {
			a.say("There is no search to quote from. Begin one with `find WORDS`.\n")
			return
		}
	}
	found, _, ok := a.search(words)
	if !ok {
		return
	}
	if number > len(found) {
		a.say("The search for “%s” has only %s.\n", escape(oneLine(words)), count(len(found), "result"))
		return
	}
	h := found[number-1]
	text := snippetText(h)
	if h.Message != "" {
		m, err := a.library.Message(a.ctx, h.Message)
		switch {
		case a.ctx.Err() != nil:
			return
		case err == nil && m.Text() != "":
			text = m.Text()
		case err != nil:
			a.say("Only this much can be read: %s\n\n", agent.PublicOf(err))
		}
	}
	a.say("From %s, %s:\n\n", a.source(h), h.Created.In(a.now.Location()).Format("Monday, 2 January 2006, 15:04"))
	blockquote(&a.text, text)
}

func (a *answer) listTools() {
	if len(a.tools) == 0 {
		a.say("There are no tools in this chat.\n")
		return
	}
	a.say("There %s in this chat:\n\n", map[bool]string{true: "is " + count(1, "tool"), false: "are " + count(len(a.tools), "tool")}[len(a.tools) == 1])
	for _, t := range a.tools {
		first, _, _ := strings.Cut(strings.TrimSpace(t.Description), "\n")
		a.say("- **%s**: %s\n", escape(oneLine(t.Name)), escape(oneLine(first)))
	}
	a.say("\nUse one with `tool NAME {json}`.\n")
}

// use asks for a tool; policy and approval follow as for any model.
func (a *answer) use(c command) {
	known := false
	for _, t := range a.tools {
		known = known || t.Name == c.Tool
	}
	switch {
	case !known:
		a.say("There is no tool named “%s” in this chat. ", escape(oneLine(c.Tool)))
		a.listTools()
	case c.Wrong != "":
		a.say("What follows the name must be one JSON object, such as `{\"key\": \"value\"}`: %s.\n", escape(oneLine(c.Wrong)))
	default:
		a.say("I use **%s**.\n", escape(c.Tool))
		a.call = &agent.CallPiece{Name: c.Tool, Arguments: c.Arguments}
	}
}

// report gives back what tools answered.
func (a *answer) report() {
	for _, r := range a.talk.results {
		verb := "answered"
		if r.Failed {
			verb = "failed"
		}
		text, images := resultText(r)
		if !r.Failed && a.settled(r.Name) {
			continue
		}
		if strings.TrimSpace(text) == "" && images == 0 {
			a.say("**%s** %s without a word.\n\n", escape(oneLine(r.Name)), verb)
			continue
		}
		a.say("**%s** %s:\n\n", escape(oneLine(r.Name)), verb)
		if strings.TrimSpace(text) != "" {
			blockquote(&a.text, agent.Clip(text, maxResult))
		}
		if images > 0 {
			a.say("It also gave %s, which I cannot see.\n\n", count(images, "image"))
		}
	}
}

// resultText returns what a tool said, without the marks the prompt puts around data.
func resultText(r agent.ToolResult) (text string, images int) {
	var words []string
	for _, p := range r.Content {
		switch p := p.(type) {
		case agent.Text:
			words = append(words, unfence(p.Text))
		case agent.Image:
			images++
		}
	}
	return strings.Join(words, "\n\n"), images
}

func unfence(s string) string {
	return fenced().ReplaceAllStringFunc(s, func(m string) string {
		_, m, _ = strings.Cut(m, "\n")
		if i := strings.LastIndexByte(m, '\n'); i >= 0 {
			m = m[:i]
		}
		return m
	})
}

func count(n int, noun string) string {
	if n == 1 {
		return "one " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// oneLine shortens what is repeated from a person or a store to a line.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if c := agent.Clip(s, 120); c != s {
		return c + "…"
	}
	return s
}
