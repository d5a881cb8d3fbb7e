package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"ash/agent"
	"ash/handlers"
)

// asking puts what waits for a decision before the person at the terminal, one after the other.
type asking struct {
	terminal *terminal
	printer  *printer
	queue    []handlers.ControlCall // not yet decided, as far as is known
	open     agent.ID               // of queue, the one that is shown
	helpers  map[agent.ID]bool      // calls of helpers that run
}

// note keeps the queue up to what an event tells.
func (a *asking) note(ev handlers.ControlEvent) {
	c := ev.Detail
	if c == nil {
		return
	}
	if c.Effect != nil && c.Effect.Kind == agent.EffectDelegate {
		if c.State == agent.CallStarted {
			a.helpers[c.ID] = true
		} else {
			delete(a.helpers, c.ID)
		}
	}
	if ev.Kind == "confirm_request" {
		a.add(*c)
	} else if c.State != agent.CallWaiting {
		a.drop(c.ID)
	}
}

func (a *asking) add(c handlers.ControlCall) {
	if !a.terminal.ask {
		return
	}
	i := slices.IndexFunc(a.queue, func(x handlers.ControlCall) bool { return x.ID == c.ID })
	if i < 0 {
		a.queue = append(a.queue, c)
		return
	}
	if a.queue[i].Binding != c.Binding && a.open == c.ID {
		a.open = "" // it is about something else now
	}
	a.queue[i] = c
}

// drop takes a call out that needs no decision any more.
func (a *asking) drop(id agent.ID) {
	locked := slices.ContainsFunc(a.queue, func(x handlers.ControlCall) bool { return x.ID == id && x.Locked })
	a.queue = slices.DeleteFunc(a.queue, func(x handlers.ControlCall) bool { return x.ID == id })
	if a.open == id && locked {
		a.open = ""
		fmt.Fprintln(a.terminal.notes)
	}
	if a.open == id {
		a.open = ""
		fmt.Fprintln(a.terminal.notes, "\n[decided elsewhere]")
	}
}

// refresh asks what waits, helpers' calls too.
func (a *asking) refresh(ctx context.Context) error {
	if !a.terminal.ask {
		return nil
	}
	waiting, err := a.terminal.link.waiting(ctx, a.terminal.thread)
	if err != nil {
		return err
	}
	for _, c := range slices.Clone(a.queue) {
		if !slices.ContainsFunc(waiting, func(x handlers.ControlCall) bool { return x.ID == c.ID }) {
			a.drop(c.ID)
		}
	}
	for _, c := range waiting {
		a.add(c)
	}
	return nil
}

// typedAhead is how long lines that were typed before a question are waited for.
const typedAhead = 30 * time.Millisecond

// show puts the first of the queue before the person, unless something is. What was typed before it was shown is no answer
// to it: it is kept for the prompt.
func (a *asking) show() {
	if a.open != "" || len(a.queue) == 0 {
		return
	}
	t := a.terminal
	for waited := false; !waited; {
		select {
		case line, more := <-t.typed:
			if !more {
				return // a.answers tells
			}
			if line != "" {
				t.early = append(t.early, line)
			}
		case <-time.After(typedAhead):
			waited = true
		}
	}
	c := a.queue[0]
	a.open = c.ID
	a.printer.rest()
	switch {
	case c.Question:
		fmt.Fprint(t.notes, question(c))
		return
	case c.Locked:
		fmt.Fprintf(t.notes, "\n%s waits for the vault, which is locked. Unlock it in another terminal (ash vault unlock) or in the\nbrowser, and it goes on by itself. n does without it, /later leaves it waiting › ", shown(c.Tool))
		return
	}
	fmt.Fprint(t.notes, approval(c))
}

// answers is where the person's word on what is shown comes from; nothing comes while nothing is shown.
func (a *asking) answers() <-chan string {
	if len(a.queue) == 0 {
		return nil
	}
	return a.terminal.typed
}

// leave ends the conversation with what waits left waiting.
func (a *asking) leave() error {
	fmt.Fprintln(a.terminal.notes)
	a.terminal.leaving = true
	return a.leftWaiting()
}

// leftWaiting is the error for what was not decided.
func (a *asking) leftWaiting() error {
	a.printer.waits = a.queue
	return a.printer.waiting()
}

// answer takes a line as the person's word on what is shown. left says that they leave it waiting.
func (a *asking) answer(ctx context.Context, line string) (left bool, err error) {
	c := a.queue[0]
	switch line {
	case "/later":
		return true, a.leftWaiting()
	case "/quit", "/exit":
		return true, a.leave()
	}
	d, ok := decisionOf(c, line)
	if !ok {
		fmt.Fprint(a.terminal.notes, help(c))
		return false, nil
	}
	d.Binding = c.Binding
	a.open = ""
	a.queue = a.queue[1:]
	err = a.terminal.link.decide(ctx, c.ID, d)
	switch agent.CodeOf(err) {
	case "":
		return false, nil
	case agent.CodeConflict, agent.CodeInvalid, agent.CodeNotFound, agent.CodeLocked: // decided elsewhere, or changed: what waits now is asked anew
		fmt.Fprintln(a.terminal.notes, shown(agent.PublicOf(err)))
		return false, a.refresh(ctx)
	}
	return false, err
}

// decisionOf reads a line: y, n, n and a reason, or the number of a standing permission; for a question an answer, the
// number of a choice, or /skip.
func decisionOf(c handlers.ControlCall, line string) (handlers.ControlDecision, bool) {
	number, err := strconv.Atoi(line)
	numbered := err == nil
	if c.Question {
		switch {
		case line == "":
			return handlers.ControlDecision{}, false
		case line == "/skip":
			return handlers.ControlDecision{}, true
		case numbered && c.Effect != nil && number >= 1 && number <= len(c.Effect.Choices):
			return handlers.ControlDecision{Approve: true, Answer: c.Effect.Choices[number-1]}, true
		}
		return handlers.ControlDecision{Approve: true, Answer: line}, true
	}
	word, reason, _ := strings.Cut(line, " ")
	switch strings.ToLower(word) {
	case "y", "yes":
		return handlers.ControlDecision{Approve: true}, reason == ""
	case "n", "no":
		return handlers.ControlDecision{Reason: strings.TrimSpace(reason)}, true
	}
	if numbered && c.Effect != nil && number >= 1 && number <= len(c.Effect.Offers) {
		return handlers.ControlDecision{Approve: true, Always: c.Effect.Offers[number-1].Rule}, true
	}
	return handlers.ControlDecision{}, false
}

func help(c handlers.ControlCall) string {
	if c.Question {
		return "your answer, /skip, or /later › "
	}
	return "y, n, n and a reason, the number of a permission, or /later › "
}

// approval is the card of a call that wants a yes: all of what would happen, and why it is asked.
func approval(c handlers.ControlCall) string {
	var b strings.Builder
	e := c.Effect
	if e == nil {
		e = &handlers.ControlEffect{Text: string(c.Arguments)}
	}
	title := e.Title
	if title == "" {
		title = c.Tool
	}
	fmt.Fprintf(&b, "\n┌ %s (%s)\n", shown(title), shown(c.Tool))
	line := func(name, text string) {
		if text == "" {
			return
		}
		for i, l := range strings.Split(strings.TrimRight(shown(text), "\n"), "\n") {
			if i > 0 {
				name = ""
			}
			fmt.Fprintf(&b, "│ %-8s %s\n", name, l)
		}
	}
	line("", c.Why)
	line("where", e.Target)
	line("exactly", e.Text)
	line("changes", e.Diff)
	line("reaches", strings.Join(e.Hosts, ", "))
	line("read", strings.Join(e.Sources, ", "))
	for _, p := range e.Private {
		line("PRIVATE", p)
	}
	if e.Opaque {
		line("UNREAD", "part of this cannot be read: it is encoded, or too long to check")
	}
	fmt.Fprint(&b, "└ y yes · n no · n REASON")
	for i, o := range e.Offers {
		fmt.Fprintf(&b, " · %d %s", i+1, shown(o.Label))
	}
	fmt.Fprint(&b, " › ")
	return b.String()
}

// question is the card of a call that wants an answer.
func question(c handlers.ControlCall) string {
	var b strings.Builder
	text := string(c.Arguments)
	var choices []string
	if c.Effect != nil {
		text, choices = c.Effect.Text, c.Effect.Choices
	}
	fmt.Fprintf(&b, "\n? %s\n", strings.ReplaceAll(shown(text), "\n", "\n  "))
	for i, choice := range choices {
		fmt.Fprintf(&b, "  %d %s\n", i+1, shown(choice))
	}
	if len(choices) > 0 {
		fmt.Fprint(&b, "a number, an answer of your own, or /skip › ")
	} else {
		fmt.Fprint(&b, "your answer, or /skip › ")
	}
	return b.String()
}

// shown makes foreign text fit for a terminal: what would control it, or has no look of its own, is written by its number.
func shown(text string) string {
	deceptive := func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r)
	}
	if !strings.ContainsFunc(text, deceptive) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if deceptive(r) {
			fmt.Fprintf(&b, "‹U+%04X›", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
