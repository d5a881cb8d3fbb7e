package handlers_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ash/agent"
	"ash/handlers"
	"ash/store"
)

func TestAPIRemembersAndFinds(t *testing.T) {
	h := openAPI(t)
	key := h.add("The spare key is at Ferdinand's.", `,"about":[{"name":"Ferdinand","kind":"person"}],"importance":0.9`)
	h.add("The bins go out on Tuesday.", `,"kind":"core","said":"2024-02-01T10:00:00Z","pinned":true,"expires":"2099-01-01T00:00:00Z"`)
	h.add("The roof was done in 1998.", `,"said":"2024-03-01T10:00:00+02:00","from":"1998-05-01T00:00:00Z","until":null`)
	if key.Source.Kind != agent.SourceAPI || key.Source.Via != "API token app" || key.Confidence != 1 || key.Importance != .9 || len(key.About) != 1 || key.About[0].Kind != agent.EntityPerson {
		t.Errorf("kept %+v", key)
	}
	if !slices.ContainsFunc(key.Labels, func(l handlers.APILabel) bool { return l.Private }) {
		t.Errorf("labels %+v", key.Labels)
	}
	for query, want := range map[string]string{
		"":                                   "The spare key is at Ferdinand's.|The roof was done in 1998.|The bins go out on Tuesday.",
		"?kind=core":                         "The bins go out on Tuesday.",
		"?kind=pattern":                      "",
		"?entity=ferdinand":                  "The spare key is at Ferdinand's.",
		"?entity=FERDINAND&kind=core":        "",
		"?entity=Ferd":                       "",
		"?entity=nobody":                     "",
		"?entity=" + string(agent.NewID()):   "",
		"?until=2024-03-01":                  "The bins go out on Tuesday.",
		"?since=2024-03-01&until=2024-03-02": "The roof was done in 1998.",
		"?since=2024-03-01T08:00:00Z&until=2024-03-01T08:00:01Z": "The roof was done in 1998.",
		"?status=superseded":  "",
		"?status=all&limit=1": "The spare key is at Ferdinand's.",
	} {
		if got := strings.Join(h.list(query), "|"); got != want {
			t.Errorf("%s lists %q, want %q", query, got, want)
		}
	}
	hits := into[handlers.APIHits](h.ask("GET", "/memories/search?q=where+is+the+key&k=1", "").is(200)).Hits
	if len(hits) != 1 || hits[0].Ref != string(key.ID) || hits[0].Kind != agent.MemoryFact || len(hits[0].Why) == 0 {
		t.Errorf("found %+v", hits)
	}
	if got := into[handlers.APIHits](h.ask("GET", "/memories/search?q=zebra", "").is(200)).Hits; len(got) != 0 {
		t.Errorf("found %+v", got)
	}
	one := h.ask("GET", "/memories/"+string(key.ID), "").is(200)
	if full := into[handlers.APIMemoryFull](one); one.header.Get("ETag") != `"`+key.Version+`"` || len(full.History) != 1 || full.Text != key.Text {
		t.Errorf("shows %+v with %s", full, one.header.Get("ETag"))
	}
	h.ask("GET", "/memories/"+string(agent.NewID()), "").is(404)
	h.ask("GET", "/memories/nonsense", "").is(404)
	for _, query := range []string{
		"?kind=x", "?status=x", "?since=yesterday", "?until=2024-13-01", "?limit=0", "?limit=201", "?limit=1.5", "?after=%%%", "?after=eHg", "?page=2",
		"?kind=core&kind=fact", "?entity=%00", "?entity=%ff", "?access_token=x", "?since=0001-01-01",
	} {
		h.ask("GET", "/memories"+query, "").is(422)
	}
	for _, query := range []string{"", "?q=", "?q=a&k=0", "?q=a&k=101", "?q=" + strings.Repeat("a", 1001), "?q=a&x=1"} {
		h.ask("GET", "/memories/search"+query, "").is(422)
	}
}

func TestAPIPages(t *testing.T) {
	h := openAPI(t)
	for i := range 7 {
		h.add(fmt.Sprintf("Room %d is painted.", i))
	}
	var all []string
	next := ""
	for range 4 {
		page := into[handlers.APIMemories](h.ask("GET", "/memories?limit=3&after="+url.QueryEscape(next), "").is(200))
		for _, m := range page.Memories {
			all = append(all, m.Text)
		}
		if next = page.Next; next == "" {
			break
		}
	}
	if len(all) != 7 || all[0] != "Room 6 is painted." || all[6] != "Room 0 is painted." {
		t.Errorf("paged through %q", all)
	}
}

func TestAPIKeepsOnceWhatIsSentTwice(t *testing.T) {
	h := openAPI(t)
	body := `{"text":"The spare key is at Ferdinand's."}`
	first := h.ask("POST", "/memories", body, "Idempotency-Key", "k-1").is(201)
	id := into[handlers.APIMemory](first).ID
	if first.header.Get("Location") != "/api/v1/memories/"+string(id) {
		t.Errorf("location %s", first.header.Get("Location"))
	}
	again := h.ask("POST", "/memories", body, "Idempotency-Key", "k-1").is(200)
	if into[handlers.APIMemory](again).ID != id || again.header.Get("Idempotency-Replayed") != "true" || again.header.Get("Location") != first.header.Get("Location") || again.header.Get("ETag") != first.header.Get("ETag") {
		t.Errorf("sent again: %s %v", again.body, again.header)
	}
	h.ask("POST", "/memories", `{"text":"Something else."}`, "Idempotency-Key", "k-1").is(422, "another request")
	// Another token's key is another key; the same words are the same memory whatever the key.
	other := h.token("other", "memory")
	if got := into[handlers.APIMemory](h.ask("POST", "/memories", body, "Idempotency-Key", "k-1", "Authorization", "Bearer "+string(other)).is(200)); got.ID != id {
		t.Errorf("another token's is %s", got.ID)
	}
	if got := into[handlers.APIMemory](h.ask("POST", "/memories", body).is(200)); got.ID != id {
		t.Errorf("without a key it is %s", got.ID)
	}
	// A request that comes late does not bring the old wording back.
	merged := h.ask("POST", "/memories", body, "Idempotency-Key", "k-2").is(200)
	h.ask("PATCH", "/memories/"+string(id), `{"text":"The spare key is at Anna's."}`, "If-Match", merged.header.Get("ETag")).is(200)
	for _, key := range []string{"k-1", "k-2"} {
		if got := into[handlers.APIMemory](h.ask("POST", "/memories", body, "Idempotency-Key", key).is(200)); got.ID != id || got.Status != agent.FactSuperseded {
			t.Errorf("%s late: %+v", key, got)
		}
	}
	if got := h.list(""); len(got) != 1 || got[0] != "The spare key is at Anna's." {
		t.Errorf("remembered %q", got)
	}
	for _, key := range []string{" ", "ä", strings.Repeat("k", 256), "a\tb"} {
		h.ask("POST", "/memories", body, "Idempotency-Key", key).is(422)
	}
}

// forgetful loses the notes of requests, as a crash between keeping and noting would.
type forgetful struct{ handlers.APIRequests }

func (forgetful) NoteMade(context.Context, agent.ID, string, string, agent.ID) error {
	return errors.New("the note is lost")
}

func TestAPIKeyOutlivesItsNote(t *testing.T) {
	h := openAPI(t, func(p *handlers.APIParts) { p.Requests = forgetful{p.Requests} })
	body := `{"text":"The spare key is at Ferdinand's."}`
	h.ask("POST", "/memories", body, "Idempotency-Key", "k").is(500)
	id := into[handlers.APIMemory](h.ask("POST", "/memories", body, "Idempotency-Key", "k").is(200)).ID
	h.ask("PATCH", "/memories/"+string(id), `{"text":"It is at Anna's."}`, "If-Match", "*").is(200)
	if got := into[handlers.APIMemory](h.ask("POST", "/memories", body, "Idempotency-Key", "k").is(200)); got.ID != id {
		t.Errorf("sent late it made %+v", got)
	}
	if got := h.list(""); !slices.Equal(got, []string{"It is at Anna's."}) {
		t.Errorf("holds %q", got)
	}
}

func TestAPITwoSendersOneMemory(t *testing.T) {
	h := openAPI(t)
	var (
		all     sync.WaitGroup
		mu      sync.Mutex
		ids     = map[agent.ID]int{}
		created int
	)
	for range 8 {
		all.Go(func() {
			r := h.raw("POST", "/memories", `{"text":"The spare key is at Ferdinand's."}`, "Idempotency-Key", "same")
			mu.Lock()
			defer mu.Unlock()
			if r.status == 201 {
				created++
			} else if r.status != 200 {
				t.Errorf("status %d: %s", r.status, r.body)
				return
			}
			ids[into[handlers.APIMemory](r).ID]++
		})
	}
	all.Wait()
	if created != 1 || len(ids) != 1 || len(h.list("?status=all")) != 1 {
		t.Errorf("%d created, ids %v", created, ids)
	}
}

func TestAPIEdits(t *testing.T) {
	h := openAPI(t)
	m := h.add("The spare key is at Ferdinand's.", `,"about":[{"name":"Ferdinand"}],"from":"2020-01-01T00:00:00Z"`)
	path := "/memories/" + string(m.ID)
	h.ask("PATCH", path, `{"pinned":true}`).is(428)
	h.ask("PATCH", path, `{"pinned":true}`, "If-Match", `"x"`).is(412)
	h.ask("PATCH", path, `{"pinned":true}`, "If-Match", `W/"`+m.Version+`"`).is(412)
	two := into[handlers.APIMemory](h.ask("PATCH", path, `{"pinned":true,"kind":"core","importance":0,"expires":"2099-01-01T00:00:00Z","about":[{"name":"Key"}]}`,
		"If-Match", `"x", "`+m.Version+`"`).is(200))
	if !two.Pinned || two.Kind != agent.FactCore || two.Importance != 0 || two.Expires.Year() != 2099 || two.ID != m.ID || len(two.About) != 1 || two.About[0].Name != "Key" || two.From != m.From {
		t.Errorf("edited to %+v", two)
	}
	h.ask("PATCH", path, `{"pinned":false}`, "If-Match", `"`+m.Version+`"`).is(412, "changed")
	three := into[handlers.APIMemory](h.ask("PATCH", path, `{"pinned":false,"expires":null,"from":null,"about":[]}`, "If-Match", two.Version).is(200))
	if three.Pinned || !three.Expires.IsZero() || !three.From.IsZero() || len(three.About) != 0 {
		t.Errorf("taken away: %+v", three)
	}
	r := h.ask("PATCH", path, `{"text":"The spare key is at Anna's.","labels":[{"source":"mail.example","kind":"untrusted"}]}`, "If-Match", three.Version).is(200)
	four := into[handlers.APIMemory](r)
	if four.ID == m.ID || r.header.Get("Location") != "/api/v1/memories/"+string(four.ID) || four.Kind != agent.FactCore || !slices.Equal(four.Supersedes, []agent.ID{m.ID}) {
		t.Errorf("corrected to %+v", four)
	}
	if !slices.ContainsFunc(four.Labels, func(l handlers.APILabel) bool { return l.Kind == agent.LabelUntrusted && l.Source == "mail.example" }) {
		t.Errorf("labels %+v", four.Labels)
	}
	full := into[handlers.APIMemoryFull](h.ask("GET", path, "").is(200))
	if full.Status != agent.FactSuperseded || full.SupersededBy != four.ID || len(full.History) != 2 || full.History[1].ID != four.ID {
		t.Errorf("history %+v", full)
	}
	h.ask("PATCH", path, `{"pinned":true}`, "If-Match", full.Version).is(409, "history")
	h.ask("PATCH", path, `{"pinned":true}`, "If-Match", "*").is(409)
	if got := h.list(""); !slices.Equal(got, []string{"The spare key is at Anna's."}) {
		t.Errorf("holds %q", got)
	}
	path = "/memories/" + string(four.ID)
	for _, body := range []string{
		`{}`, `{"labels":[]}`, `{"labels":[{"source":"x","kind":"private"}]}`, `{"kind":"x"}`, `{"importance":1.5}`, `{"importance":-0.1}`, `{"text":""}`, `{"text":null}`,
		`{"pinned":"yes"}`, `{"expires":"soon"}`, `{"expires":5}`, `{"status":"retired"}`, `{"about":[{"name":""}]}`, `{"about":[{"name":"a","kind":"dog"}]}`,
		`{"from":"2030-01-01T00:00:00Z","until":"2020-01-01T00:00:00Z"}`,
	} {
		h.ask("PATCH", path, body, "If-Match", "*").is(422)
	}
	h.ask("PATCH", "/memories/"+string(agent.NewID()), `{"pinned":true}`, "If-Match", "*").is(404)
}

func TestAPITwoWritersLoseNothing(t *testing.T) {
	h := openAPI(t)
	m := h.add("The spare key is at Ferdinand's.")
	var (
		all  sync.WaitGroup
		mu   sync.Mutex
		won  []string
		lost int
	)
	for i := range 6 {
		all.Go(func() {
			text := fmt.Sprintf("The spare key is in drawer %d.", i)
			r := h.raw("PATCH", "/memories/"+string(m.ID), `{"text":"`+text+`"}`, "If-Match", m.Version)
			mu.Lock()
			defer mu.Unlock()
			switch r.status {
			case 200:
				won = append(won, text)
			case 412:
				lost++
			default:
				t.Errorf("status %d: %s", r.status, r.body)
			}
		})
	}
	all.Wait()
	if len(won) != 1 || lost != 5 || !slices.Equal(h.list(""), won) {
		t.Errorf("%q won, %d lost, %q holds", won, lost, h.list(""))
	}
}

func TestAPIForgets(t *testing.T) {
	h := openAPI(t)
	m := h.add("Ferdinand is allergic to hazelnuts.")
	path := "/memories/" + string(m.ID)
	shown := into[handlers.APITraces](h.ask("DELETE", path+"?dry_run=true", "").is(200))
	if shown.Memory != m.ID || len(shown.Traces) == 0 || shown.Traces[0].Key != "fact:"+string(m.ID) || !shown.Traces[0].Forget {
		t.Errorf("shows %+v", shown)
	}
	if len(h.list("")) != 1 {
		t.Fatal("looking forgot it")
	}
	h.ask("DELETE", path, "", "If-Match", `"x"`).is(412)
	h.ask("DELETE", path+"?plan=x", "").is(409)
	h.ask("DELETE", path+"?trace=fact:x", "").is(422)
	h.ask("DELETE", path+"?dry_run=perhaps", "").is(422)
	h.ask("DELETE", path+"?what=1", "").is(422)
	h.ask("DELETE", path, "x", "Content-Type", "text/plain").is(415)
	done := into[handlers.APIForgotten](h.ask("DELETE", path+"?plan="+shown.Plan, "", "If-Match", m.Version).is(200))
	if !slices.Equal(done.Memories, []agent.ID{m.ID}) || time.Until(done.Until) < 50*time.Minute {
		t.Errorf("forgot %+v", done)
	}
	h.ask("GET", path, "").is(404)
	h.ask("DELETE", path, "").is(404)
	if got := into[handlers.APIHits](h.ask("GET", "/memories/search?q=hazelnuts", "").is(200)); len(got.Hits) != 0 || len(h.list("?status=all")) != 0 {
		t.Errorf("it is still found: %+v", got)
	}
	h.ask("POST", "/memories", `{"text":"Ferdinand is allergic to hazelnuts."}`).is(403, "forgotten", "urn:ash:problem:forgotten")
	h.ask("POST", "/memories", `{"text":"ferdinand is allergic to HAZELNUTS"}`, "Idempotency-Key", "new").is(403)
	bins := h.add("The bins go out on Tuesday.")
	h.ask("PATCH", "/memories/"+string(bins.ID), `{"text":"Ferdinand is allergic to hazelnuts."}`, "If-Match", "*").is(403, "urn:ash:problem:forgotten")

	if list := into[handlers.APIForgettings](h.ask("GET", "/forgettings", "").is(200)); len(list.Forgettings) != 1 || list.Forgettings[0].ID != done.ID {
		t.Errorf("can be taken back: %+v", list)
	}
	undo := strings.TrimPrefix(done.Undo, handlers.APIPrefix)
	h.ask("POST", undo, "x", "Content-Type", "application/x-www-form-urlencoded").is(415)
	h.ask("POST", undo, "").is(204)
	h.ask("POST", undo, "").is(404, "nothing to take back")
	h.ask("GET", path, "").is(200)
	exact := into[handlers.APIForgotten](h.ask("DELETE", path+"?trace=fact:"+string(m.ID), "").is(200))
	if len(exact.Memories) != 1 {
		t.Errorf("forgot %+v", exact)
	}
	h.must(h.book.Finish(context.Background(), exact.ID))
	h.ask("POST", "/forgettings/"+string(exact.ID)+"/undo", "").is(404)
}

func TestAPIKeyOfWhatWasForgotten(t *testing.T) {
	h := openAPI(t)
	body := `{"text":"Ferdinand is allergic to hazelnuts."}`
	m := into[handlers.APIMemory](h.ask("POST", "/memories", body, "Idempotency-Key", "k").is(201))
	h.ask("DELETE", "/memories/"+string(m.ID), "").is(200)
	h.ask("POST", "/memories", body, "Idempotency-Key", "k").is(410)
	if got := h.list("?status=all"); len(got) != 0 {
		t.Errorf("it is back: %q", got)
	}
}

func TestAPIKeepsNoSecrets(t *testing.T) {
	h := openAPI(t)
	key := "sk-ant-" + "api03-Qx7Lm2Vt9Rz4Kp8Ws1Nd6Yb3Hc5Jf0Ga"
	for _, body := range []string{
		`{"text":"The key is ` + key + `"}`,
		`{"text":"Ours is ` + string(h.secret) + `"}`,
		`{"text":"x y","about":[{"name":"` + key + `"}]}`,
		`{"text":"x y","labels":[{"kind":"private","source":"` + key + `"}]}`,
	} {
		r := h.ask("POST", "/memories", body).is(422, "password or key")
		if strings.Contains(string(r.body), key) {
			t.Errorf("the answer repeats it: %s", r.body)
		}
	}
	m := h.add("The bins go out on Tuesday.")
	h.ask("PATCH", "/memories/"+string(m.ID), `{"text":"It is `+key+`"}`, "If-Match", "*").is(422)
	if strings.Contains(h.log.String(), key) {
		t.Error("the log holds it")
	}
}

func TestAPISurvives(t *testing.T) {
	h := openAPI(t)
	m := h.add("The spare key is at Ferdinand's.")
	// A second connection to the file sees what a crash would leave.
	s, err := store.Open(t.Context(), store.Options{Path: filepath.Join(h.home, "ash.db")})
	h.must(err)
	f, err := s.Fact(t.Context(), m.ID)
	if h.must(err); f.Text != m.Text || f.Source.Via != "API token app" {
		t.Errorf("on disk %+v", f)
	}
	h.must(s.Close())
}

// TestAPILeavesNothingRunning counts goroutines before and after many requests of every kind.
func TestAPILeavesNothingRunning(t *testing.T) {
	h := openAPI(t)
	h.add("The spare key is at Ferdinand's.")
	count := func() int {
		h.client.CloseIdleConnections()
		time.Sleep(20 * time.Millisecond)
		return runtime.NumGoroutine()
	}
	h.ask("GET", "/memories", "")
	before := count()
	for i := range 40 {
		h.ask("GET", "/memories", "")
		h.ask("GET", "/memories/search?q=key", "")
		h.ask("POST", "/memories", fmt.Sprintf(`{"text":"Room %d is painted."}`, i)).is(201)
		h.ask("POST", "/memories", `{`)
		h.raw("GET", "/nowhere", "")
	}
	after := count()
	for range 100 {
		if after <= before+2 { // the server may still be closing a connection
			return
		}
		after = count()
	}
	t.Errorf("%d goroutines before, %d after", before, after)
}
