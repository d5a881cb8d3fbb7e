package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ash/agent"
	"ash/agent/audit"
)

// auditSources are what the audit reads of a database.
func auditSources(s *Store) map[string]audit.SourceFunc {
	return map[string]audit.SourceFunc{"messages": s.AuditMessages, "calls": s.AuditCalls, "memory": s.AuditMemory, "versions": s.AuditVersions}
}

// TestTheAuditReadsEveryText plants a word in every column that holds text and looks where it comes out.
func TestTheAuditReadsEveryText(t *testing.T) {
	f := newFixture(t)
	m := f.post("hello").Message.ID
	run := func(query string, args ...any) {
		t.Helper()
		if _, err := f.writer.NewRaw(query, args...).Exec(f.ctx); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	const canary = "canary-%s-0123456789"
	parts := func(kind string) string {
		return fmt.Sprintf(`[{"type":"text","text":"a \"quoted\" `+canary+`"},{"type":"thinking","text":"`+canary+`"},{"type":"file","attachment":{"hash":"h","name":"n","media":"m","size":1},"extract":"`+canary+`"},{"type":"tool_result","call":"x","content":[{"type":"text","text":"`+canary+`"}]}]`,
			kind+"-text", kind+"-thinking", kind+"-extract", kind+"-result")
	}
	one := func(kind string) string { return fmt.Sprintf(canary, kind) }
	run("UPDATE messages SET parts = ? WHERE id = ?", parts("message"), m)
	run("UPDATE threads SET title = ? WHERE id = ?", one("title"), f.thread)
	run(`INSERT INTO tool_calls (id, thread, turn, message, position, provider_id, name, state, question, why, binding, created, started, finished, labels, arguments, result)
		VALUES ('0198c0de-0000-7000-8000-000000000001', ?, 't', ?, 0, '', 'shell', 'finished', 0, '', '', 1, 1, 1, '[]', ?, ?)`, f.thread, m, `{"env":{"password":"`+one("argument")+`"}}`, parts("call"))
	run(`INSERT INTO facts (id, kind, status, owner, subject, confidence, importance, said, true_from, true_until, expires, pinned, source, note, created, updated, labels, fold, quote, text)
		VALUES ('0198c0de-0000-7000-8000-000000000002', 'fact', 'current', ?, 's', 1, 1, 1, 0, 0, 0, 0, 'message', '', 1, 1, '[]', '', ?, ?)`, f.owner, one("quote"), one("fact"))
	run(`INSERT INTO proposals (id, action, created, why, fact) VALUES ('0198c0de-0000-7000-8000-000000000003', 'keep', 1, '', ?)`, `{"text":"`+one("proposal")+`"}`)
	run(`INSERT INTO summaries (id, thread, from_message, to_message, provider, model, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost, first_token, duration, disabled, created, labels, text)
		VALUES ('0198c0de-0000-7000-8000-000000000004', ?, ?, ?, '', '', 0, 0, 0, 0, 0, 0, 0, 0, 1, '[]', ?)`, f.thread, m, m, one("summary"))
	run(`INSERT INTO episodes (thread, through, began, ended, created, provider, model, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost, first_token, duration, labels, entities, text)
		VALUES (?, ?, 1, 1, 1, '', '', 0, 0, 0, 0, 0, 0, 0, '[]', '', ?)`, f.thread, m, one("episode"))
	run(`INSERT INTO identity_versions (id, file, hash, size, source, created, text) VALUES ('0198c0de-0000-7000-8000-000000000005', 'SOUL.md', 'h', 1, 'page', 1, ?)`, one("identity"))
	run(`INSERT INTO file_versions (id, thread, call, root, path, mode, undone, created, labels, bytes) VALUES ('0198c0de-0000-7000-8000-000000000006', ?, 'c', '/r', 'x.env', 384, 0, 1, '[]', ?)`, f.thread, []byte(one("file")))

	var all strings.Builder
	for name, source := range auditSources(f.Store) {
		err := source(f.ctx, func(x audit.Text) error {
			if x.Place == "" || x.Kind == "" || x.Line != 0 {
				t.Errorf("%s gives %+v", name, x)
			}
			all.WriteString(x.Text)
			return nil
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	want := []string{"title", "argument", "quote", "fact", "proposal", "summary", "episode", "identity", "file"}
	for _, kind := range []string{"message", "call"} {
		want = append(want, kind+"-text", kind+"-thinking", kind+"-extract", kind+"-result")
	}
	for _, w := range want {
		if !strings.Contains(all.String(), one(w)) {
			t.Errorf("the audit does not read %s", w)
		}
	}
	for _, w := range []string{`a "quoted" canary`, "password = " + one("argument")} {
		if !strings.Contains(all.String(), w) {
			t.Errorf("%q is not read as a person would", w)
		}
	}
}

func TestTheAuditReadsInPieces(t *testing.T) {
	f := newFixture(t)
	for range 3*auditRows + 7 {
		f.post("one of many")
	}
	long := strings.Repeat("filler words ", 50_000)
	last := f.post(long + "the end").Message.ID
	texts, most, pieces := 0, 0, 0
	var tail string
	err := f.AuditMessages(f.ctx, func(x audit.Text) error {
		texts++
		most = max(most, len(x.Text))
		if x.Place == "message "+string(last) {
			pieces++
			tail = x.Text
			if pieces > 1 && x.Fresh == 0 {
				t.Error("a piece does not say what it repeats")
			}
		}
		return nil
	})
	if err != nil || texts < 3*auditRows+8 || most > auditPiece || pieces < 3 || !strings.HasSuffix(strings.TrimSpace(tail), "the end") {
		t.Errorf("%v: %d texts, at most %d bytes, %d pieces", err, texts, most, pieces)
	}
	enough := errors.New("enough")
	if err := f.AuditMessages(f.ctx, func(audit.Text) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("an error of the reader came back as %v", err)
	}
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	if err := f.AuditMessages(ctx, func(audit.Text) error { return nil }); err == nil {
		t.Error("a reader that has left is read to")
	}
}

// A text is read to a bound, and whoever reads is told where it was not read to its end.
func TestTheAuditSaysWhatItDidNotRead(t *testing.T) {
	f := newFixture(t)
	f.post("short")
	whole := f.post(strings.Repeat("ö", auditBytes-1000)).Message.ID // two bytes each: longer in bytes alone
	long := f.post(strings.Repeat("filler words ", auditBytes/12)).Message.ID
	if _, err := f.writer.NewRaw(`INSERT INTO file_versions (id, thread, call, root, path, mode, undone, created, labels, bytes) VALUES ('0198c0de-0000-7000-8000-000000000006', ?, 'c', '/r', 'x.txt', 384, 0, 1, '[]', ?)`,
		f.thread, []byte(strings.Repeat("x", auditBytes+1))).Exec(f.ctx); err != nil {
		t.Fatal(err)
	}
	var cut []string
	for name, source := range auditSources(f.Store) {
		last := map[string]audit.Text{}
		err := source(f.ctx, func(x audit.Text) error {
			if last[x.Place].Until > 0 {
				t.Errorf("%s: a piece that is not the last of %s says that it is", name, x.Place)
			}
			last[x.Place] = x
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for place, x := range last {
			if x.Until > 0 {
				cut = append(cut, place)
			}
		}
	}
	slices.Sort(cut)
	if want := []string{"earlier version of x.txt", "message " + string(long)}; !slices.Equal(cut, want) {
		t.Errorf("not read to their ends: %q, want %q (and not %s)", cut, want, whole)
	}
}

func TestReportsAreKeptAndBounded(t *testing.T) {
	f := newFixture(t)
	if _, found, err := f.LastHealthReport(f.ctx); found || err != nil {
		t.Errorf("%v %v", found, err)
	}
	var newest agent.ID
	for i := range keptReports + 5 {
		newest = agent.NewID()
		f.ok(f.AddAuditReport(f.ctx, audit.Report{ID: newest, Home: fmt.Sprint(i), Findings: []audit.Finding{{ID: "a", Fix: &audit.Fix{Act: audit.ActClose, Target: "/x"}}}}))
	}
	list, err := f.AuditReports(f.ctx)
	if err != nil || len(list) != keptReports || list[0].ID != newest || list[0].Findings[0].Fix.Target != "/x" {
		t.Fatalf("%d reports, %v", len(list), err)
	}
	f.ok(f.ChangeAuditReport(f.ctx, newest, func(r *audit.Report) { r.Findings[0].Fixed = now() }))
	if r, err := f.AuditReport(f.ctx, newest); err != nil || r.Findings[0].Fixed.IsZero() {
		t.Errorf("%+v %v", r, err)
	}
	for _, err := range []error{f.ChangeAuditReport(f.ctx, agent.NewID(), func(*audit.Report) {}), func() error { _, err := f.AuditReport(f.ctx, agent.NewID()); return err }()} {
		if agent.CodeOf(err) != agent.CodeNotFound {
			t.Errorf("a report that is not there: %v", err)
		}
	}
}
