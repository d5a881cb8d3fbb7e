package store

import (
	"bytes"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/access"
)

func aToken(name string) access.Token {
	return access.Token{ID: agent.NewID(), Name: name, Hint: "ash_abcdef", Scopes: []access.Scope{access.ScopeRead, access.ScopeMemory}, Created: now(), Expires: now().Add(time.Hour)}
}

func TestTokens(t *testing.T) {
	f := newFixture(t)
	a, b := aToken("App"), aToken("Other")
	f.ok(f.AddToken(f.ctx, a, []byte("hash of a"), 2))
	f.fails(f.AddToken(f.ctx, aToken("aPP"), []byte("x"), 2), agent.CodeConflict)
	f.fails(f.AddToken(f.ctx, aToken("third"), []byte("hash of a"), 2), agent.CodeConflict)
	f.ok(f.AddToken(f.ctx, b, []byte("hash of b"), 2))
	f.fails(f.AddToken(f.ctx, aToken("third"), []byte("x"), 2), agent.CodeExhausted)

	got, hash, err := f.TokenByHash(f.ctx, []byte("hash of a"))
	f.ok(err)
	equal(t, got, a)
	equal(t, bytes.Equal(hash, []byte("hash of a")), true)
	_, _, err = f.TokenByHash(f.ctx, []byte("hash of c"))
	f.fails(err, agent.CodeNotFound)

	first := now()
	f.ok(f.UseToken(f.ctx, a.ID, first, first.Add(-time.Minute)))
	f.ok(f.UseToken(f.ctx, a.ID, first.Add(time.Second), first.Add(time.Second-time.Minute))) // too soon
	got, _, err = f.TokenByHash(f.ctx, []byte("hash of a"))
	f.ok(err)
	equal(t, got.Used, first)

	f.ok(f.RevokeToken(f.ctx, a.ID, first))
	f.ok(f.RevokeToken(f.ctx, a.ID, first.Add(time.Hour))) // once is enough
	f.fails(f.RevokeToken(f.ctx, agent.NewID(), first), agent.CodeNotFound)
	got, _, err = f.TokenByHash(f.ctx, []byte("hash of a"))
	f.ok(err)
	equal(t, got.Revoked, first)
	c := aToken("APP") // the name is free, and there is room
	f.ok(f.AddToken(f.ctx, c, []byte("hash of c"), 2))
	list, err := f.Tokens(f.ctx)
	f.ok(err)
	equal(t, []agent.ID{list[0].ID, list[1].ID, list[2].ID}, []agent.ID{c.ID, b.ID, a.ID})
}

func TestRequestsOfTokens(t *testing.T) {
	f := newFixture(t)
	a, b := aToken("a"), aToken("b")
	f.ok(f.AddToken(f.ctx, a, []byte("a"), 9))
	f.ok(f.AddToken(f.ctx, b, []byte("b"), 9))
	fact := agent.NewID()
	made := func(token agent.ID, key, body string) (agent.ID, bool) {
		t.Helper()
		id, same, err := f.MadeBy(f.ctx, token, key, body)
		f.ok(err)
		return id, same
	}
	f.ok(f.NoteMade(f.ctx, a.ID, "k", "secret plans", fact))
	f.ok(f.NoteMade(f.ctx, a.ID, "k", "other plans", agent.NewID())) // the first stands
	for _, c := range []struct {
		token     agent.ID
		key, body string
		fact      agent.ID
		same      bool
	}{{a.ID, "k", "secret plans", fact, true}, {a.ID, "k", "other plans", fact, false}, {a.ID, "K", "secret plans", "", false}, {b.ID, "k", "secret plans", "", false}} {
		id, same := made(c.token, c.key, c.body)
		equal(t, id, c.fact)
		equal(t, same, c.same)
	}
	var row requestRow
	f.ok(fixed(f.reader, `SELECT * FROM api_requests`).Scan(f.ctx, &row))
	if bytes.Contains(row.Body, []byte("secret")) || len(row.Body) != 16 || len(row.Key) != 16 {
		t.Errorf("kept %q, %q", row.Key, row.Body)
	}
	f.fails(f.NoteMade(f.ctx, agent.NewID(), "k", "x", fact), agent.CodeNotFound)

	_, err := f.writer.NewRaw("UPDATE api_requests SET created = ?", micros(now().Add(-requestsKept-time.Hour))).Exec(f.ctx)
	f.ok(err)
	f.ok(f.NoteMade(f.ctx, b.ID, "k", "x", fact))
	if id, _ := made(a.ID, "k", "secret plans"); id != "" {
		t.Error("what is older than a month is kept")
	}
	f.ok(f.RevokeToken(f.ctx, b.ID, now()))
	if id, _ := made(b.ID, "k", "x"); id != "" {
		t.Error("what a revoked token asked for is kept")
	}
}

// TestViaIsKept follows the means by which a fact was entered through everything that copies facts.
func TestViaIsKept(t *testing.T) {
	f := newFixture(t)
	row, err := toFact(agent.Fact{ID: agent.NewID(), Source: agent.Provenance{Kind: agent.SourceAPI, Via: "API token app"}})
	f.ok(err)
	back, err := fromFact(row)
	f.ok(err)
	equal(t, back.Source.Via, "API token app")
	text, err := encodeFact(back)
	f.ok(err)
	again, err := decodeFact(text)
	f.ok(err)
	equal(t, again.Source, back.Source)
}
