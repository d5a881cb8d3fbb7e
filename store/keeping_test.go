package store

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/identity"
)

func TestPersons(t *testing.T) {
	f := newFixture(t)
	owner, err := f.Owner(f.ctx)
	f.ok(err)
	owner.DisplayName, owner.Notes = "Zoë", "n"
	owner.Channels = []agent.ChannelAddress{{Channel: "cli", ExternalID: "me"}, {Channel: "mail", ExternalID: "z@example.org"}}
	f.ok(f.SavePerson(f.ctx, owner))
	got, err := f.Owner(f.ctx)
	f.ok(err)
	equal(t, got, owner)
	other := agent.Person{ID: agent.NewID(), DisplayName: "Bo", Channels: owner.Channels[:1], Created: now()}
	f.fails(f.SavePerson(f.ctx, other), agent.CodeConflict)
	owner.Channels = owner.Channels[1:]
	f.ok(f.SavePerson(f.ctx, owner))
	f.ok(f.SavePerson(f.ctx, other))
	got, err = f.Person(f.ctx, other.ID)
	f.ok(err)
	equal(t, got, other)
	f.fails(f.SavePerson(f.ctx, agent.Person{ID: agent.NewID(), Owner: true}), agent.CodeConflict)
	_, err = f.Person(f.ctx, agent.NewID())
	f.fails(err, agent.CodeNotFound)
}

func TestVersions(t *testing.T) {
	f := newFixture(t)
	_, err := f.LatestVersion(f.ctx, "SOUL.md")
	f.fails(err, agent.CodeNotFound)
	var all []identity.Version
	for i, source := range []identity.Source{identity.SourceDefault, identity.SourcePage, identity.SourceOutside} {
		v := identity.Version{
			ID: agent.NewID(), File: "SOUL.md", Hash: strings.Repeat("0", i+1), Text: strings.Repeat("t", i), Size: i, Source: source, Created: now(),
		}
		f.ok(f.AddVersion(f.ctx, v))
		all = append([]identity.Version{v}, all...)
	}
	f.ok(f.AddVersion(f.ctx, identity.Version{ID: agent.NewID(), File: "USER.md", Source: identity.SourceRestore}))
	latest, err := f.LatestVersion(f.ctx, "SOUL.md")
	f.ok(err)
	equal(t, latest, all[0])
	got, err := f.Version(f.ctx, all[1].ID)
	f.ok(err)
	equal(t, got, all[1])
	list, err := f.ListVersions(f.ctx, "SOUL.md", 2)
	f.ok(err)
	all[0].Text, all[1].Text = "", ""
	equal(t, list, all[:2])
	_, err = f.Version(f.ctx, agent.NewID())
	f.fails(err, agent.CodeNotFound)
}

func TestLedgerHoldsNoText(t *testing.T) {
	f := newFixture(t)
	const secret = "Geheimnis"
	m := agent.Message{ID: agent.NewID(), State: agent.MessageComplete, Parts: text(secret), Model: agent.ModelRef{Provider: "p", Name: "m"}}
	c := agent.ToolCall{ID: agent.NewID(), Name: "shell", State: agent.CallWaiting, Arguments: []byte(`"` + secret + `"`), Why: secret, Result: text(secret)}
	events := []agent.Event{
		agent.UserEvent{Message: m}, agent.AssistantEvent{Message: m}, agent.AssistantDelta{Text: secret},
		agent.ToolCallEvent{Call: c}, agent.ToolProgress{Text: secret}, agent.ToolResultEvent{Call: c},
		agent.ConfirmRequest{Call: c}, agent.ConfirmResponse{Call: c}, agent.MemoryEvent{Learned: true, Items: []agent.ID{"1", "2"}},
		agent.MemoryEvent{Items: []agent.ID{"3"}}, agent.PolicyEvent{Call: c.ID, Verdict: "ask", Why: secret},
		agent.AuditEvent{What: "device.signed_in", Detail: secret}, agent.AuditEvent{What: "The " + secret},
		agent.ProgressEvent{Message: m.ID, Text: secret}, agent.ErrorEvent{Failure: agent.Failure{Code: agent.CodeExhausted, Public: secret}},
		agent.ProgressEvent{Message: m.ID, Attempt: &agent.Attempt{Model: m.Model, Failed: &agent.Failure{Code: agent.CodeUnavailable, Public: secret}}},
		agent.ProgressEvent{Message: m.ID, Attempt: &agent.Attempt{Model: m.Model}},
		agent.TurnEvent{Turn: agent.Turn{ID: agent.NewID(), State: agent.TurnDone}},
		threadEvent(agent.Thread{ID: f.thread, Title: secret}, true), threadEvent(agent.Thread{ID: f.thread, Archived: now()}, false),
		threadEvent(agent.Thread{ID: f.thread, Deleted: now()}, false), threadEvent(agent.Thread{ID: f.thread}, false),
	}
	var list []agent.Envelope
	for i, e := range events {
		list = append(list, agent.Envelope{
			ID: agent.EventID{Boot: "b", Seq: uint64(i)}, Time: now(), Thread: f.thread, Turn: "t", Correlation: "c", Path: "ash › tools › shell", Event: e,
		})
	}
	f.ok(f.AppendEvents(f.ctx, list))
	f.ok(f.AppendEvents(f.ctx, list[2:3])) // deltas alone are no write
	var rows []eventRow
	f.ok(f.reader.NewSelect().Model(&rows).Order("seq").Scan(f.ctx))
	equal(t, len(rows), len(events)-2+1)
	first := rows[0]
	if first.Kind != "user" || first.Subject != m.ID || first.State != "complete" || first.Size != len(secret) || first.Hash == "" || first.Thread != f.thread {
		t.Errorf("row is %+v", first)
	}
	if rows[1].Name != "p/m" || rows[2].Name != "shell" || rows[2].State != "waiting" {
		t.Errorf("rows are %+v", rows[1:3])
	}
	hashes := map[string]bool{}
	for _, r := range rows {
		if strings.Contains(strings.Join([]string{r.Path, r.Name, r.State, string(r.Subject)}, " "), secret) {
			t.Errorf("text in %+v", r)
		}
		hashes[r.Hash] = true
	}
	if !hashes[rows[0].Hash] || len(rows[0].Hash) != 64 {
		t.Errorf("hash is %q", rows[0].Hash)
	}
	other := newHome(t)
	if other.about("", "", "", secret).Hash == rows[0].Hash {
		t.Error("the hash is the same in every database: it can be guessed")
	}
}

func threadEvent(t agent.Thread, moved bool) agent.Event {
	return agent.ThreadEvent{Thread: agent.ThreadSummary{Thread: t, Snippet: t.Title}, Moved: moved}
}

func TestPurgeDeleted(t *testing.T) {
	f := newFixture(t)
	const secret = "Zitronenfalter"
	image := agent.Image{Attachment: agent.Attachment{Hash: "aa", Name: "n"}}
	_, err := f.Post(f.ctx, agent.NewMessage{Thread: f.thread, Parts: []agent.Part{agent.Text{Text: secret}, image}})
	f.ok(err)
	f.reply(secret, agent.ToolCall{Name: "shell", Arguments: []byte(`"` + secret + `"`)})
	open := f.openReply()
	f.ok(f.SaveProgress(f.ctx, []agent.ReplyProgress{{Message: open.ID, Text: secret}}))
	f.ok(f.AddSummary(f.ctx, agent.Summary{ID: agent.NewID(), Thread: f.thread, Text: secret}))
	f.ok(f.AppendEvents(f.ctx, []agent.Envelope{{Thread: f.thread, Event: agent.UserEvent{}}}))
	gone := f.thread
	f.thread = f.newThread("stays")
	kept, err := f.Post(f.ctx, agent.NewMessage{Thread: f.thread, Parts: []agent.Part{image, agent.File{Attachment: agent.Attachment{Hash: "bb"}}}})
	f.ok(err)

	yes := true
	_, err = f.PatchThread(f.ctx, gone, agent.ThreadPatch{Deleted: &yes})
	f.ok(err)
	n, err := f.PurgeDeleted(f.ctx, now().Add(-time.Hour))
	f.ok(err)
	equal(t, n, 0)
	n, err = f.PurgeDeleted(f.ctx, now().Add(time.Second))
	f.ok(err)
	equal(t, n, 1)
	_, err = f.Thread(f.ctx, gone)
	f.fails(err, agent.CodeNotFound)
	for _, table := range []string{"reply_progress", "tool_calls", "summaries", "events"} {
		left, err := f.reader.NewSelect().Table(table).Count(f.ctx)
		f.ok(err)
		equal(t, left, 0)
	}
	hashes, err := f.ReferencedAttachments(f.ctx)
	f.ok(err)
	equal(t, hashes, []string{"aa", "bb"})
	_, err = f.Message(f.ctx, kept.Message.ID)
	f.ok(err)
	f.ok(f.CheckIntegrity(f.ctx))
	for _, name := range []string{"", "-wal"} {
		data, err := os.ReadFile(f.path + name)
		f.ok(err)
		for _, needle := range []string{secret, strings.ToLower(secret)} {
			if bytes.Contains(data, []byte(needle)) {
				t.Errorf("ash.db%s still holds %q", name, needle)
			}
		}
	}
}

func TestRecover(t *testing.T) {
	f := newFixture(t)
	r, err := f.Recover(f.ctx)
	f.ok(err)
	equal(t, r, agent.Recovery{})

	f.waiting()
	resting := f.thread
	f.thread = f.newThread("")
	f.post("run")
	c := f.reply("tools", agent.ToolCall{Name: "shell", State: agent.CallApproved}).Calls[0]
	_, err = f.MoveCall(f.ctx, agent.ToolCall{ID: c.ID, State: agent.CallStarted}, agent.CallApproved)
	f.ok(err)
	working := f.thread
	f.thread = f.newThread("")
	p := f.post("write")
	m := f.openReply()
	f.ok(f.SaveProgress(f.ctx, []agent.ReplyProgress{{Message: m.ID, Text: "half a sent"}}))
	queued := f.post("queued").Message
	_, err = f.EndTurn(f.ctx, p.Turn, agent.TurnStopping)
	f.ok(err)

	r, err = f.Recover(f.ctx)
	f.ok(err)
	equal(t, r, agent.Recovery{Turns: 2, Replies: 1, Calls: 1})
	tail := f.tail()
	if tail.Head.State != agent.MessageCut || tail.Head.Text() != "half a sent" || tail.Head.Error == nil || tail.Head.Finished.IsZero() {
		t.Errorf("reply is %+v", tail.Head)
	}
	equal(t, tail.Turn.State, agent.TurnInterrupted)
	got, err := f.Message(f.ctx, queued.ID)
	f.ok(err)
	equal(t, got.State, agent.MessageQueued)
	if got := f.call(c.ID); got.State != agent.CallUnknown || got.Finished.IsZero() {
		t.Errorf("call is %+v", got)
	}
	f.thread = working
	equal(t, f.tail().Turn.State, agent.TurnInterrupted)
	f.thread = resting
	equal(t, f.tail().Turn.State, agent.TurnWaiting)
	r, err = f.Recover(f.ctx)
	f.ok(err)
	equal(t, r, agent.Recovery{})
}

func TestAQueuedMessageAfterACrashIsNotLost(t *testing.T) {
	f := newFixture(t)
	first := f.post("one").Message
	queued := f.post("two").Message
	_, err := f.Recover(f.ctx)
	f.ok(err)
	p := f.post("three")
	path, err := f.Path(f.ctx, p.Message.ID, 0)
	f.ok(err)
	equal(t, idsOf(path), []agent.ID{first.ID, queued.ID, p.Message.ID})
}

func TestAClosedOrCancelledStore(t *testing.T) {
	f := newFixture(t)
	gone, cancel := context.WithCancel(f.ctx)
	cancel()
	_, err := f.Post(gone, agent.NewMessage{Thread: f.thread, Parts: text("x")})
	f.fails(err, agent.CodeUnavailable)
	_, err = f.Tail(gone, f.thread)
	f.fails(err, agent.CodeUnavailable)
	if f.tail().Head.ID != "" {
		t.Error("a cancelled post was stored")
	}
}
