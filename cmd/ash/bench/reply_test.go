//go:build linux

package bench

import (
	"bytes"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"
)

// BenchmarkReply is a reply of 500 tokens at full speed: from sending the message to the first token and to
// the end on the page, beside the same reply asked of the model server directly and through the bare proxy. At
// its end the whole is stored and shown; the message itself was on the disk before the model was asked.
// It is measured with a model server that sends each token on its own, as they do, and with one that sends
// them in pieces of 32 KB.
func BenchmarkReply(b *testing.B) {
	for _, kind := range []struct {
		name   string
		answer answer
	}{
		{"token by token", answer{tokens: words(500), eager: true}},
		{"in large pieces", answer{tokens: words(500)}},
	} {
		b.Run(kind.name, func(b *testing.B) { replies(b, kind.answer) })
	}
}

func replies(b *testing.B, a answer) {
	m := newModel(b, a)
	proxy, p := bare(b, m), ash(b, b.TempDir(), m)
	page := visit(b, p)
	client := &http.Client{Transport: &http.Transport{}}
	var direct, directWhole, proxied, acked, first, whole samples
	for b.Loop() {
		x := page.open(page.begin("hello"), nil)
		page.rest(x.thread)
		f, w := ask(b, client, m.url)
		direct, directWhole = append(direct, f), append(directWhole, w)
		_, w = ask(b, client, proxy.url)
		proxied = append(proxied, w)
		a, f, w := x.exchange("And now?")
		acked, first, whole = append(acked, a), append(first, f), append(whole, w)
		x.close()
	}
	b.ReportMetric(direct.median(), "ms/direct-first")
	b.ReportMetric(directWhole.median(), "ms/direct")
	b.ReportMetric(proxied.median(), "ms/bare")
	b.ReportMetric(acked.median(), "ms/acknowledged")
	b.ReportMetric(first.least()-direct.least(), "ms/first-added-least")
	b.ReportMetric(whole.median(), "ms/whole")
	b.ReportMetric(whole.least()/directWhole.least(), "x-direct-least")
	figure(b, first.median()-direct.median(), "ms/first-added", 5)
	figure(b, whole.median()/directWhole.median(), "x-direct", 8)
	b.ReportMetric(0, "ns/op")
}

// BenchmarkFiftyChats is the tokens a second that reach fifty pages whose conversations all answer at once.
func BenchmarkFiftyChats(b *testing.B) {
	const chats = 50
	for _, tokens := range []int{500, 4000} {
		b.Run(strconv.Itoa(tokens)+" tokens each", func(b *testing.B) {
			m := newModel(b, answer{tokens: []string{"zebra"}})
			proxy, p := bare(b, m), ash(b, b.TempDir(), m)
			page := visit(b, p)
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: chats}}
			tabs := openTabs(page, chats)
			m.says(answer{tokens: words(tokens)})
			var direct, proxied, ours samples
			var cpu time.Duration
			for b.Loop() {
				direct = append(direct, atOnce(chats, func(int) { ask(b, client, m.url) }))
				proxied = append(proxied, atOnce(chats, func(int) { ask(b, client, proxy.url) }))
				before := p.cpu()
				ours = append(ours, atOnce(chats, func(i int) { tabs[i].exchange("And now?") }))
				cpu += p.cpu() - before
			}
			rate := func(s samples) float64 { return chats * float64(tokens) / s.median() * 1000 }
			b.ReportMetric(rate(direct), "tokens/s-direct")
			b.ReportMetric(rate(proxied), "tokens/s-bare")
			b.ReportMetric(chats*float64(tokens)*float64(len(ours))/cpu.Seconds(), "tokens/cpu-s")
			b.ReportMetric(chats*float64(tokens)/ours.least()*1000, "tokens/s-best")
			atLeast(b, rate(ours), "tokens/s", 80_000)
			b.ReportMetric(0, "ns/op")
		})
	}
}

// openTabs begins conversations and opens a page on each.
func openTabs(page *browser, n int) []*tab {
	tabs := make([]*tab, n)
	for i := range tabs {
		thread := page.begin("hello")
		page.rest(thread)
		tabs[i] = page.open(thread, nil)
	}
	time.Sleep(time.Second) // titles are made beside
	return tabs
}

// atOnce runs fn n times side by side and returns how long all of them took.
func atOnce(n int, fn func(i int)) time.Duration {
	began := time.Now()
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { fn(i) })
	}
	wg.Wait()
	return time.Since(began)
}

// BenchmarkTwoHundredChats is how late deltas reach two hundred pages whose conversations each say twenty
// tokens a second, all begun at the same moment: from the model server's writing to the page's reading.
func BenchmarkTwoHundredChats(b *testing.B) {
	const chats = 200
	m := newModel(b, answer{tokens: []string{"zebra"}})
	p := ash(b, b.TempDir(), m)
	page := visit(b, p)
	tabs := openTabs(page, chats)
	m.says(answer{tokens: make([]string, 100), every: 50 * time.Millisecond, stamp: true})
	var late samples
	var cpu time.Duration
	for b.Loop() {
		before := p.cpu()
		clocks := make([]clock, chats)
		atOnce(chats, func(i int) { clocks[i].follow(tabs[i]) })
		cpu += p.cpu() - before
		for _, c := range clocks {
			if c.tokens != 100 {
				b.Fatalf("%d of 100 tokens came", c.tokens)
			}
			late = append(late, c.late...)
		}
	}
	b.ReportMetric(late.median(), "ms/median")
	b.ReportMetric(late.at(0.99), "ms/p99")
	b.ReportMetric(cpu.Seconds()/b.Elapsed().Seconds(), "cpus")
	figure(b, late.most(), "ms/latest", 250)
	b.ReportMetric(0, "ns/op")
}

// clock reads the stamps in an answer.
type clock struct {
	newest int64 // microseconds
	tokens int
	late   samples
}

// follow says something and reads the stamps until the turn has ended.
func (c *clock) follow(x *tab) {
	rested := make(chan struct{})
	x.hear(func(f frame) {
		switch {
		case f.writes():
			c.read(f)
		case f.rested():
			x.heard = nil
			close(rested)
		}
	})
	if err := x.browser.say(x.thread, "And now?"); err != nil {
		x.browser.t.Error(err)
		return
	}
	select {
	case <-rested:
	case <-time.After(patience):
		x.browser.t.Error("the turn never ended")
	}
}

// read takes the stamps that are new: some of the text is sent twice.
func (c *clock) read(f frame) {
	now := f.at.Sub(bootTime).Microseconds()
	for data := f.data; ; {
		i := bytes.IndexByte(data, 'q')
		if i < 0 || len(data) < i+11 {
			return
		}
		data = data[i+1:]
		at, err := strconv.ParseInt(string(data[:10]), 10, 64)
		if err != nil || at <= c.newest {
			continue
		}
		c.newest = at
		c.tokens++
		c.late = append(c.late, time.Duration(now-at)*time.Microsecond)
	}
}
