package handlers_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"ash/agent"
)

// message is one message of an event stream.
type message struct{ id, event, data string }

// screen is a page in a browser that shows what its stream brings, the way htmx with the
// upsert extension does.
type screen struct {
	t     testing.TB
	h     *house
	path  string
	from  string // the stream's address, as the page has it
	doc   *goquery.Document
	last  string // the stream's id, as the browser keeps it
	named map[string][]string
	lost  []string // targets that were not there
	came  chan message
	leave context.CancelFunc
}

// watch opens a page and its stream.
func (h *house) watch(path string) *screen {
	h.t.Helper()
	s := &screen{t: h.t, h: h, path: path, named: map[string][]string{}}
	s.doc = h.reload(path)
	s.from, _ = s.doc.Find("#stream").Attr("hx-sse:connect")
	s.connect(s.from, "")
	h.t.Cleanup(func() { s.leave() })
	return s
}

// reload reads a page anew.
func (h *house) reload(path string) *goquery.Document {
	h.t.Helper()
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(h.browser.Get(path).Is(200).Body))
	h.must(err)
	return doc
}

// connect opens the stream at address; since, if any, is sent as a browser sends what it saw last.
func (s *screen) connect(address, since string) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.h.base+address, nil)
	s.h.must(err)
	if since != "" {
		req.Header.Set("Last-Event-ID", since)
	}
	res, err := http.DefaultClient.Do(req)
	s.h.must(err)
	if res.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %s", address, res.Status)
	}
	came := make(chan message, 1000)
	s.came = came
	gone := make(chan struct{})
	s.leave = func() { cancel(); <-gone }
	go func() {
		defer close(gone)
		defer close(came)
		defer func() { _ = res.Body.Close() }()
		r := bufio.NewReader(res.Body)
		var m message
		var data []string
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
			value = strings.TrimPrefix(value, " ")
			switch {
			case line == "\n":
				m.data = strings.Join(data, "\n")
				came <- m
				m, data = message{}, nil
			case field == "id":
				m.id = value
			case field == "event":
				m.event = value
			case field == "data":
				data = append(data, value)
			}
		}
	}()
}

// again comes back after the connection broke, as a browser does: to the page's address, with what it saw last, if it has seen anything whole.
func (s *screen) again() {
	s.t.Helper()
	s.leave()
	s.connect(s.from, s.last)
}

// until shows what comes until cond holds.
func (s *screen) until(what string, cond func() bool) {
	s.t.Helper()
	limit := time.After(10 * time.Second)
	for !cond() {
		select {
		case m, open := <-s.came:
			if !open {
				s.t.Fatalf("the stream ended before: %s", what)
			}
			s.show(m)
		case <-limit:
			page, _ := s.doc.Find("main").Html()
			s.t.Fatalf("it never came: %s\n%s\nevents: %v", what, page, s.named)
		}
	}
}

// has waits for a selector to find something, lacks for it to find nothing.
func (s *screen) has(selector string) {
	s.t.Helper()
	s.until(selector, func() bool { return s.doc.Find(selector).Length() > 0 })
}

func (s *screen) lacks(selector string) {
	s.t.Helper()
	s.until("no "+selector, func() bool { return s.doc.Find(selector).Length() == 0 })
}

// says waits for the text under a selector to hold a text.
func (s *screen) says(selector, text string) {
	s.t.Helper()
	s.until(text+" in "+selector, func() bool { return strings.Contains(s.doc.Find(selector).Text(), text) })
}

// rests waits until a turn has ended that n were told of running before, and the last words about it are in.
func (s *screen) rests() {
	s.t.Helper()
	s.until("the end of the turn", func() bool {
		turns := s.named["ash:turn"]
		return len(turns) > 0 && turns[len(turns)-1] == `{"running":false}`
	})
	s.settle()
}

// settle shows what else comes, until nothing has for a moment.
func (s *screen) settle() {
	s.t.Helper()
	for {
		select {
		case m, open := <-s.came:
			if !open {
				return
			}
			s.show(m)
		case <-time.After(60 * time.Millisecond):
			return
		}
	}
}

// task is one fragment on its way to its place.
type task struct {
	kind, swap, key, sort string
	selector              string
	target                *html.Node
	nodes                 []*html.Node
}

// show does what the browser does with a message. The targets of partials are looked up
// before the first fragment is put in, those of upserts when their turn comes.
func (s *screen) show(m message) {
	s.t.Helper()
	if m.id != "" {
		s.last = m.id
	}
	switch {
	case m.event != "":
		s.named[m.event] = append(s.named[m.event], m.data)
		return
	case m.data == "":
		return
	}
	// As htmx does, or the parser would take rows out of their fragments.
	source := strings.NewReplacer("<hx-partial", `<template data-kind=partial`, "</hx-partial>", "</template>",
		"<hx-upsert", `<template data-kind=upsert`, "</hx-upsert>", "</template>").Replace(m.data)
	body := &html.Node{Type: html.ElementNode, Data: "body", DataAtom: atom.Body}
	top, err := html.ParseFragment(strings.NewReader(source), body)
	s.h.must(err)
	var tasks []task
	for _, n := range top {
		if n.Type != html.ElementNode || n.Data != "template" {
			if n.Type == html.TextNode && strings.TrimSpace(n.Data) == "" {
				continue
			}
			s.t.Fatalf("a message brings what has no place: %q", m.data)
		}
		k := task{kind: attr(n, "data-kind"), swap: attr(n, "hx-swap"), key: attr(n, "key"), sort: attr(n, "sort"), selector: attr(n, "hx-target")}
		if k.kind == "partial" {
			k.target = s.find(k.selector)
		}
		for n.FirstChild != nil {
			c := n.FirstChild
			n.RemoveChild(c)
			k.nodes = append(k.nodes, c)
		}
		tasks = append(tasks, k)
	}
	for _, k := range tasks {
		if k.kind == "upsert" {
			if k.target = s.find(k.selector); k.target != nil {
				s.upsert(k)
			}
		} else if k.target != nil {
			swap(k)
		}
		if k.target == nil && k.swap != "delete" && k.selector != "#thread-list" { // the rows of conversations reach pages without their list, too
			s.lost = append(s.lost, k.selector)
		}
	}
}

func (s *screen) find(selector string) *html.Node {
	found := s.doc.Find(selector)
	if found.Length() == 0 {
		return nil
	}
	return found.Nodes[0]
}

func swap(k task) {
	parent := k.target.Parent
	switch k.swap {
	case "beforeend":
		for _, n := range k.nodes {
			k.target.AppendChild(n)
		}
	case "innerHTML":
		for k.target.FirstChild != nil {
			k.target.RemoveChild(k.target.FirstChild)
		}
		for _, n := range k.nodes {
			k.target.AppendChild(n)
		}
	case "outerHTML":
		for _, n := range k.nodes {
			parent.InsertBefore(n, k.target)
		}
		parent.RemoveChild(k.target)
	case "delete":
		parent.RemoveChild(k.target)
	}
}

func (s *screen) upsert(k task) {
	for _, n := range k.nodes {
		if n.Type != html.ElementNode {
			continue
		}
		if old := s.find("#" + attr(n, "id")); old != nil {
			old.Parent.InsertBefore(n, old)
			old.Parent.RemoveChild(old)
			continue
		}
		place := func(n *html.Node) string {
			if v := attr(n, k.key); k.key != "" && v != "" {
				return v
			}
			return attr(n, "id")
		}
		before := (*html.Node)(nil)
		for c := k.target.FirstChild; c != nil && before == nil; c = c.NextSibling {
			if c.Type != html.ElementNode || place(c) == "" {
				continue
			}
			less := numeric(place(n), place(c))
			if k.sort == "desc" {
				less = numeric(place(c), place(n))
			}
			if less {
				before = c
			}
		}
		k.target.InsertBefore(n, before)
	}
}

// numeric compares the way the upsert extension does: numbers by their value.
func numeric(a, b string) bool {
	if len(a) != len(b) && !strings.ContainsAny(a+b, "-.abcdefghijklmnopqrstuvwxyz") {
		return len(a) < len(b)
	}
	return a < b
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// same checks that the page becomes what it would be after a reload, where a person looks.
func (s *screen) same() {
	s.t.Helper()
	s.alike("#messages", "#queued", "#composer-action", "#thread-head", "#thread-list")
}

// alike checks that parts of the page become what they would be after a reload.
func (s *screen) alike(parts ...string) {
	s.t.Helper()
	difference := "never compared"
	for end := time.Now().Add(5 * time.Second); difference != "" && time.Now().Before(end); {
		s.settle()
		difference = s.difference(parts)
	}
	if difference != "" {
		s.t.Error(difference)
	}
	if len(s.lost) > 0 {
		s.t.Errorf("fragments without a place: %v", s.lost)
	}
}

// difference says where parts of the page are not what a reload shows, "" for nowhere.
func (s *screen) difference(parts []string) string {
	s.t.Helper()
	fresh := s.h.reload(s.path)
	for _, part := range parts {
		got, want := seen(s.doc.Find(part)), seen(fresh.Find(part))
		at := 0
		for at < min(len(got), len(want)) && got[at] == want[at] {
			at++
		}
		if got != want {
			from := max(0, at-200)
			return fmt.Sprintf("%s is not what a reload shows, from:\n%s\nbut\n%s", part, got[from:min(len(got), at+200)], want[from:min(len(want), at+200)])
		}
	}
	return ""
}

var space = regexp.MustCompile(`\s+`)

// seen writes what a part of a page shows. Ids within prose, tokens, days and groups depend on how the page came to be.
func seen(part *goquery.Selection) string {
	var b strings.Builder
	var walk func(n *html.Node, prose bool)
	walk = func(n *html.Node, prose bool) {
		switch {
		case n.Type == html.TextNode:
			b.WriteString(n.Data)
			return
		case n.Type != html.ElementNode:
			return
		case attr(n, "name") == "_csrf", slices.Contains(strings.Fields(attr(n, "class")), "day"), n.Data == "h3" && attr(n, "class") == "group":
			return
		case n.Data == "details" && attr(n, "class") == "thinking" && !thought(n): // not seen
			return
		case n.Data == "p" && attr(n, "class") == "empty-note", n.Data == "a" && attr(n, "class") == "more":
			return
		}
		b.WriteString("\n<" + n.Data)
		attrs := slices.SortedFunc(slices.Values(n.Attr), func(x, y html.Attribute) int { return strings.Compare(x.Key, y.Key) })
		for _, a := range attrs {
			switch {
			case prose && a.Key == "id", a.Key == "aria-live", n.Data == "article" && a.Key == "data-at":
				continue
			}
			b.WriteString(" " + a.Key + "=" + a.Val)
		}
		b.WriteString(">")
		prose = prose || slices.Contains(strings.Fields(attr(n, "class")), "prose")
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c, prose)
		}
		b.WriteString("\n</" + n.Data + ">")
	}
	for _, n := range part.Nodes {
		walk(n, false)
	}
	return space.ReplaceAllString(strings.ReplaceAll(b.String(), "\n", " "), " ")
}

// thought reports whether the reasoning of an answer has anything in it.
func thought(details *html.Node) bool {
	return goquery.NewDocumentFromNode(details).Find(".prose > *").Length() > 0
}

// post sends a message as the page does.
func (h *house) post(thread agent.ID, text string) {
	h.t.Helper()
	h.browser.HTMX().Post("/chat/"+string(thread)+"/messages", formOf(text)).Is(200)
}

// publish puts an event on the feed as the engine does.
func (h *house) publish(thread agent.ID, ev agent.Event) {
	h.engine.Publisher.Publish(agent.Envelope{Thread: thread, Path: "ash", Event: ev})
}
