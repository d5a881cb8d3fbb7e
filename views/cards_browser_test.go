package views_test

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"ash/agent"
	"ash/views/components"
)

// decided waits for the n-th decision and returns what was sent.
func (d *desk) decided(t *testing.T, n int) post {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if all := d.posted("/decide"); len(all) >= n {
			if len(all) > n {
				t.Fatalf("%d decisions, want %d: %+v", len(all), n, all)
			}
			return all[n-1]
		}
	}
	t.Fatalf("the decision never came; sent: %+v", d.posted("/decide"))
	return post{}
}

// A reason typed and sent with Enter denies. Nothing but a press of Approve approves.
func TestCardsAreDecidedWithTheKeyboard(t *testing.T) {
	d, b := openDesk(t), openTab(t)
	card := "#c-" + string(id(0xa1))
	b.run(t, viewport(1280, 900), chromedp.Navigate(d.URL+"/chat-cards"))
	b.until(t, `document.querySelector("#stream")?._htmx`)
	b.run(t, chromedp.Focus(card+" .quick .go", chromedp.ByQuery), chromedp.KeyEvent(kb.Enter))
	got := d.decided(t, 1)
	if got.all.Get("decision") != "approve" || got.all.Get("binding") != "b" || got.all.Get("_csrf") == "" {
		t.Errorf("Approve sends %v", got.all)
	}
	b.run(t, chromedp.Focus(card+" .aside:has([name=reason]) > summary", chromedp.ByQuery), chromedp.KeyEvent(kb.Enter))
	b.until(t, `document.querySelector("`+card+` .aside:has([name=reason])").open`)
	b.run(t, chromedp.SendKeys(card+" input[name=reason]", "not today"+kb.Enter, chromedp.ByQuery))
	got = d.decided(t, 2)
	if got.all.Get("decision") != "deny" || got.all.Get("reason") != "not today" {
		t.Errorf("Enter in the reason sends %v", got.all)
	}
	b.run(t, chromedp.Click(card+" .aside:has(.edit-call) > summary", chromedp.ByQuery))
	b.run(t, chromedp.SendKeys(card+` input[name="text.command"]`, kb.End+" --branch"+kb.Enter, chromedp.ByQuery))
	got = d.decided(t, 3)
	if got.all.Get("decision") != "edit" || got.all.Get("text.command") != "git status --short --branch" {
		t.Errorf("Enter in the arguments sends %v", got.all)
	}
	b.run(t, chromedp.Click(card+` button[value=always]`, chromedp.ByQuery))
	if got = d.decided(t, 4); got.all.Get("decision") != "always" || got.all.Get("rule") != "1" {
		t.Errorf("Always sends %v", got.all)
	}
	b.run(t, chromedp.Click(`#g-`+components.Short(id(0x61))+` button[value=approve]`, chromedp.ByQuery))
	if got = d.decided(t, 5); got.all.Get("decision") != "approve" || got.all.Get(components.BindingField(id(0xa3))) != "b" || got.all.Has(components.BindingField(id(0xa4))) {
		t.Errorf("Approve all sends %v", got.all)
	}
	question := "#c-" + string(id(0xa4))
	b.run(t, chromedp.SendKeys(question+" input[name=answer]:not([type=hidden])", "neither"+kb.Enter, chromedp.ByQuery))
	if got = d.decided(t, 6); got.all.Get("answer") != "neither" || got.all.Get("decision") != "approve" {
		t.Errorf("an answer sends %v", got.all)
	}
	if c := b.complaints(); len(c) > 0 {
		t.Error(c)
	}
}

// Everything that is pressed on a phone has a hand's size, and nothing is wider than the screen, however much is unfolded.
func TestCardsOnAPhone(t *testing.T) {
	d, b := openDesk(t), openTab(t)
	for _, name := range []string{"chat-cards", "inbox", "tools", "tools-thread", "runs", "record"} {
		for _, width := range []int64{320, 390} {
			var small, wide []string
			b.run(t, viewport(width, 800), chromedp.Navigate(d.URL+"/"+name),
				chromedp.Evaluate(`document.querySelectorAll("main details").forEach((d) => { d.open = true; })`, nil),
				chromedp.Evaluate(`[...document.querySelectorAll("main :is(button, summary, select, input:not([type=hidden]), .run > a)")]
					.filter((e) => !e.closest(".composer, .top, .list, .receipt, .thinking, noscript, .actions") && e.getClientRects().length && e.getBoundingClientRect().height < 43.5)
					.map((e) => e.outerHTML.slice(0, 120))`, &small),
				chromedp.Evaluate(`[...document.querySelectorAll("main *")]
					.filter((e) => !e.closest("svg, .sr, .seg") && e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".args, .lines, .output"))
					.map((e) => e.outerHTML.slice(0, 120)).slice(0, 3)`, &wide))
			if len(small) > 0 {
				t.Errorf("%s at %d px has %d targets below 44 px, such as %s", name, width, len(small), small[0])
			}
			if len(wide) > 0 {
				t.Errorf("%s at %d px is wider than the screen: %s", name, width, wide)
			}
		}
	}
}

// What comes to wait appears, and what the person is typing into another card stays.
func TestInboxKeepsWhatIsBeingTyped(t *testing.T) {
	d, b := openDesk(t), openTab(t)
	b.run(t, viewport(1280, 900), chromedp.Navigate(d.URL+"/inbox"))
	b.until(t, `document.querySelector("#inbox > li")`)
	first := "#c-" + string(id(0xa0))
	b.run(t, chromedp.Click(first+" .aside:has([name=reason]) > summary", chromedp.ByQuery), chromedp.SendKeys(first+" input[name=reason]", "because", chromedp.ByQuery))
	b.until(t, `document.querySelector("#stream")?._htmx?.sse`)
	late := askings()[1]
	late.ID, late.Place = id(0xaf), components.PlaceInbox
	d.send(t, components.StreamInbox(components.InboxEntry{Call: late, Thread: thread, Title: "Later", Created: now.Add(time.Hour), Since: "just now"}))
	d.send(t, components.StreamAnnounce("Ash asks for your approval: Run a command"))
	b.until(t, `document.querySelector("#inbox > li:last-child")?.id === "w-`+components.Short(late.ID)+`"`)
	b.until(t, `document.querySelector("`+first+` input[name=reason]").value === "because"`)
	b.until(t, `document.getElementById("announce").textContent.includes("Run a command")`)
	for _, c := range append(askings(), late) {
		d.send(t, components.StreamInboxGone(components.InboxID(c.ID)))
	}
	b.until(t, `document.querySelectorAll("#inbox > li").length === 0 && document.querySelector(".inbox-empty").getClientRects().length > 0`)
	if c := b.complaints(); len(c) > 0 {
		t.Error(c)
	}
}

// A helper's lane is shown anew in its card, and a card changes its state in its place.
func TestCardsChangeInTheirPlace(t *testing.T) {
	d, b := openDesk(t), openTab(t)
	b.run(t, viewport(1280, 900), chromedp.Navigate(d.URL+"/chat-cards"))
	b.until(t, `document.querySelector("#stream")?._htmx?.sse`)
	done := askings()[0]
	done.State, done.Output, done.Duration = agent.CallFinished, "uploaded", time.Second
	d.send(t, components.StreamCall(id(0x61), done))
	b.until(t, `document.getElementById("c-`+string(done.ID)+`").classList.contains("finished") && document.querySelector(".calls").firstElementChild.id === "c-`+string(done.ID)+`"`)
	lane := *outcomes()[3].Lane
	lane.Calls, lane.Running, lane.Said = lane.Calls[:1], false, "All three are compared."
	d.send(t, components.StreamLane(lane))
	b.until(t, `document.getElementById("l-`+string(lane.Call)+`").textContent.includes("All three") && document.querySelectorAll(".lane .call").length === 1`)
	wrote := "#c-" + string(outcomes()[1].ID) // the stream tells nothing of a call that has ended: the answer does
	b.run(t, chromedp.Click(wrote+" summary", chromedp.ByQuery), chromedp.Click(wrote+` form[action$="/undo"] button`, chromedp.ByQuery))
	b.until(t, `document.querySelector("`+wrote+`").innerText.includes("Bring the change back")`)
	d.send(t, components.StreamAll(components.BatchOf(thread, id(0x61), nil, "token")))
	b.until(t, `document.getElementById("g-`+components.Short(id(0x61))+`").childElementCount === 0`)
	if c := b.complaints(); len(c) > 0 {
		t.Error(c)
	}
}
