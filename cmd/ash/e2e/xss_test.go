package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"golang.org/x/net/html"

	"ash/agent"
	"ash/agent/access"
	"ash/agent/llm/llmtest"
	"ash/store"
)

// reader asks the server as a browser does, without being one: what it is sent is looked at as markup.
type reader struct {
	t      *testing.T
	url    string
	client *http.Client
	token  string
}

var metaToken = regexp.MustCompile(`name="csrf-token" content="([^"]+)"`)

func newReader(t *testing.T, at string) *reader {
	t.Helper()
	cookies, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{t: t, url: at, client: &http.Client{Jar: cookies, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	m := metaToken.FindStringSubmatch(r.get("/chat/new"))
	if m == nil {
		t.Fatal("the page has no token")
	}
	r.token = m[1]
	return r
}

func (r *reader) get(path string) string {
	r.t.Helper()
	resp, err := r.client.Get(r.url + path)
	if err != nil {
		r.t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil || resp.StatusCode >= 500 {
		r.t.Errorf("GET %s: %s %v", path, resp.Status, err)
	}
	return string(body)
}

// post sends a form and returns the answer and where it leads.
func (r *reader) post(path string, fields url.Values) (body, to string) {
	r.t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for k, list := range fields {
		for _, v := range list {
			if err := w.WriteField(k, v); err != nil {
				r.t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		r.t.Fatal(err)
	}
	kind, content := w.FormDataContentType(), b.String()
	if path != "/chat" && !strings.HasSuffix(path, "/messages") {
		kind, content = "application/x-www-form-urlencoded", fields.Encode()
	}
	q, err := http.NewRequest(http.MethodPost, r.url+path, strings.NewReader(content))
	if err != nil {
		r.t.Fatal(err)
	}
	q.Header.Set("Content-Type", kind)
	q.Header.Set("X-CSRF-Token", r.token)
	resp, err := r.client.Do(q)
	if err != nil {
		r.t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil || resp.StatusCode >= 500 {
		r.t.Errorf("POST %s: %s %v", path, resp.Status, err)
	}
	return string(text), resp.Header.Get("Location")
}

// unsafe lists what markup must not hold, whatever a policy of the browser would forbid besides: elements and attributes by a list of what Ash's own pages are made of, and addresses that lead
// nowhere but to Ash, or to the web in a link that a person presses.
func unsafe(markup string) (wrong []string) {
	z := html.NewTokenizer(strings.NewReader(markup))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return wrong
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			if !slices.Contains(elements, t.Data) {
				wrong = append(wrong, "<"+t.Data+">")
			}
			for _, a := range t.Attr {
				if why := attribute(t, a); why != "" {
					wrong = append(wrong, fmt.Sprintf("<%s %s=%q>: %s", t.Data, a.Key, agent.Clip(a.Val, 80), why))
				}
			}
		}
	}
}

// elements are those that pages are made of.
var elements = strings.Fields(`html head body title meta link script main nav aside header footer section article div span p a b strong i em s del ins mark small sub sup u kbd samp var abbr q cite time h1 h2 h3 h4 h5 h6 hr br wbr ul ol li dl dt dd
	blockquote pre code table thead tbody tfoot tr th td caption colgroup col form label input button select option optgroup textarea fieldset legend details summary dialog output progress meter noscript template
	svg g path circle rect line polyline polygon ellipse use symbol defs text figure figcaption img search menu datalist hx-partial math-block`)

// plainAddress is a path of Ash itself.
var plainAddress = regexp.MustCompile(`^(/([^/\\]|$)|\?|#|$)`)

func attribute(t html.Token, a html.Attribute) string {
	v := strings.TrimSpace(a.Val)
	switch key := strings.ToLower(a.Key); {
	case strings.HasPrefix(key, "on"), strings.HasPrefix(key, "hx-on"), strings.HasPrefix(key, "data-hx-"), key == "srcdoc", key == "style", key == "ping", key == "background", key == "http-equiv", key == "srcset", key == "xlink:href", key == "shadowrootmode", key == "sse-connect":
		return "the attribute is never Ash's"
	case strings.Contains(v, "js:") && strings.HasPrefix(key, "hx-"):
		return "a script for htmx"
	case key == "href" && t.Data == "a":
		u, err := url.Parse(v)
		if err != nil || u.Scheme != "" && !slices.Contains([]string{"http", "https", "mailto"}, u.Scheme) || u.Scheme == "" && !plainAddress.MatchString(v) {
			return "a link to something else than the web"
		}
		if u.Scheme != "" && u.Host != "" && !strings.Contains(fmt.Sprint(t.Attr), "noopener") {
			return "a link out without noopener"
		}
	case slices.Contains([]string{"href", "src", "action", "formaction", "poster", "data", "hx-get", "hx-post", "hx-put", "hx-delete", "hx-patch"}, key):
		if !plainAddress.MatchString(v) {
			return "it leads out of Ash"
		}
	}
	return ""
}

// gallery is a server in which every vector stands in every place that shows what somebody else wrote.
type gallery struct {
	srv   *server
	read  *reader
	pages []string // to look at

	imported int // conversations
}

// importedPath are the addresses of conversations in their list.
var importedPath = regexp.MustCompile(`/chat/[0-9a-f-]{36}`)

// plantForeign puts devices and conversations that were held elsewhere into a home that nothing has open.
func plantForeign(t *testing.T, home string, vectors []string) {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{Path: filepath.Join(home, "ash.db")})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC().Truncate(time.Second)
	for i, v := range vectors {
		d := access.Device{ID: agent.NewID(), Name: v, Agent: v, How: access.ByPairing, Address: v, Created: now, Seen: now, Expires: now.Add(24 * time.Hour)}
		if _, err := db.AddDevice(t.Context(), d, []byte(fmt.Sprint("hash", i)), access.Joining{Limit: len(vectors) + 1}); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	for i, v := range vectors {
		line := map[string]any{"thread": vectors[i/vectorsAtOnce*vectorsAtOnce], "id": fmt.Sprint(i), "speaker": agent.Clip(v, 60), "time": "2025-05-01T10:00:00Z", "text": v}
		if err := json.NewEncoder(&lines).Encode(line); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(rig.binary, "import", "messages", "--home", home, "-")
	cmd.Stdin, cmd.Env = &lines, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("import: %v %s", err, said)
	}
}

// forms fills in the fields that are shown again with a mistake: names of secrets, where they may go, providers.
func (g *gallery) forms(t *testing.T, vectors []string) {
	t.Helper()
	post := func(path string, fields url.Values) string {
		t.Helper()
		body, _ := g.read.post(path, fields)
		if wrong := unsafe(body); len(wrong) > 0 {
			t.Errorf("POST %s: %v", path, wrong[:min(4, len(wrong))])
		}
		return body
	}
	for _, v := range vectors {
		post("/vault/new", url.Values{"name": {v}, "hosts": {v}, "users": {v}, "value": {"x"}, "passphrase": {"short"}})
		post("/settings/models", url.Values{"name": {v}, "kind": {v}, "base_url": {v}, "key_env": {v}})
		g.check(t, "/vault/new?name="+url.QueryEscape(v))
	}
	var env strings.Builder
	chosen := url.Values{}
	for i, v := range vectors {
		key := fmt.Sprint("KEY_", i)
		fmt.Fprintf(&env, "%s=value-%d\n", key, i)
		chosen.Add("take", key)
		chosen.Set("name."+key, agent.Clip(v, 150))
		chosen.Set("hosts."+key, v)
	}
	draft := regexp.MustCompile(`name="draft" value="([^"]+)"`).FindStringSubmatch(post("/vault/import/env", url.Values{"env-lines": {env.String()}}))
	if draft == nil {
		t.Fatal("the lines of a .env file were not taken")
	}
	chosen.Set("draft", draft[1])
	if again := post("/vault/import/choose", chosen); strings.Count(again, "window.pwned=") < len(vectors) {
		t.Error("what was typed is not shown again, so the test shows nothing")
	}
}

// paths of a gallery's conversations.
var chatPath = regexp.MustCompile(`^/chat/[0-9a-f-]{36}`)

const vectorsAtOnce = 24

func newGallery(t *testing.T, vectors []string) *gallery {
	t.Helper()
	m := newModel(t)
	m.calm = true
	m.names = vectors // of the models it lists
	srv := serveModel(t, m)
	srv.stop()
	plantForeign(t, srv.home, vectors)
	srv.start()
	g := &gallery{srv: srv, read: newReader(t, srv.url)}
	for i, v := range vectors { // files and notes that somebody put there
		name := strings.Map(func(r rune) rune {
			if r == '/' || r == 0 || r < ' ' {
				return '_'
			}
			return r
		}, agent.Clip(v, 80))
		for path, text := range map[string]string{
			filepath.Join("workspace", "files", fmt.Sprintf("%d.txt", i)):               v,
			filepath.Join("notes", fmt.Sprintf("%d %s.md", i, name)):                    "# " + v + "\n\n" + v + "\n\n[[" + v + "]]\n",
			filepath.Join("workspace", "files", "names", fmt.Sprintf("%d %s", i, name)): v,
		} {
			at := filepath.Join(srv.home, path)
			if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
	}
	g.talk(t, m, vectors)
	for _, v := range vectors {
		g.read.post("/memory/new", url.Values{"text": {"They wrote " + v}, "kind": {"fact"}, "about": {strings.ReplaceAll(agent.Clip(v, 60), ",", " ")}})
		if body, _ := g.read.post("/settings/tokens", url.Values{"label": {agent.Clip(v, 60)}, "name": {agent.Clip(v, 60)}, "scope": {"read"}}); len(unsafe(body)) > 0 {
			t.Errorf("the page of tokens, after %q: %v", v, unsafe(body))
		}
		g.check(t, "/search?q="+url.QueryEscape(v))
		g.check(t, "/palette?q="+url.QueryEscape(v))
		g.check(t, "/memory?q="+url.QueryEscape(v))
		g.check(t, "/chat/"+url.PathEscape(v))
	}
	g.forms(t, vectors)
	for _, imported := range importedPath.FindAllString(g.read.get("/chat"), 200) {
		if !slices.Contains(g.pages, imported) {
			g.pages = append(g.pages, imported)
			g.imported++
		}
	}
	if g.imported == 0 {
		t.Error("no conversation was imported, so nothing is seen of one")
	}
	if names := strings.Count(g.read.get("/settings/doors"), "window.pwned="); names < 20 {
		t.Errorf("only %d names of devices are on their page", names)
	}
	g.pages = append(g.pages, "/settings/doors", "/settings/models", "/setup", "/vault/new", "/vault/import", "/chat", "/search?q=window", "/memory", "/memory?tab=facts", "/memory/entities", "/memory/notes", "/settings/tokens", "/inbox", "/tools/runs", "/tools")
	notes := regexp.MustCompile(`href="(/memory/notes/file\?[^"]*)"`)
	for _, n := range notes.FindAllStringSubmatch(g.read.get("/memory/notes"), 30) {
		g.pages = append(g.pages, html.UnescapeString(n[1]))
	}
	return g
}

// check looks at one page's markup.
func (g *gallery) check(t *testing.T, path string) {
	t.Helper()
	if wrong := unsafe(g.read.get(path)); len(wrong) > 0 {
		t.Errorf("GET %s: %v", agent.Clip(path, 200), wrong[:min(4, len(wrong))])
	}
}

// talk has the vectors said by the person and by the model, thought, used as titles, names and contents of files, arguments, results, proposals, and errors.
func (g *gallery) talk(t *testing.T, m *model, vectors []string) {
	t.Helper()
	for some := range slices.Chunk(vectors, vectorsAtOnce) {
		text := strings.Join(some, "\n\n")
		m.title = agent.Clip(some[0], 60)
		m.push(&reply{Reply: llmtest.Reply{Thinking: pieces(text, 9), Text: pieces(text, 7)}})
		_, to := g.read.post("/chat", url.Values{"text": {text}, "form": {string(agent.NewID())}})
		thread := chatPath.FindString(to)
		if thread == "" {
			t.Fatalf("no conversation was begun: %q", to)
		}
		g.pages = append(g.pages, thread)
		g.rest(t, thread)
		next := func(r llmtest.Reply, then ...string) {
			m.push(&reply{Reply: r})
			if len(then) > 0 {
				m.says(then...)
			}
			g.read.post(thread+"/messages", url.Values{"text": {"Go on."}, "form": {string(agent.NewID())}})
			g.rest(t, thread)
		}
		i := slices.Index(vectors, some[0])
		next(llmtest.Reply{Calls: []llmtest.Call{{ID: "c1", Name: "file_read", Arguments: []string{fmt.Sprintf(`{"path":"%d.txt"}`, i+1)}}}}, "Read.")
		next(llmtest.Reply{Calls: []llmtest.Call{{ID: "c2", Name: "file_list", Arguments: []string{`{"path":"names"}`}}}}, "Listed.")
		next(llmtest.Reply{Calls: []llmtest.Call{{ID: "c3", Name: some[1], Arguments: []string{quote(some[2])}}}}, "None.")
		next(llmtest.Reply{Fault: llmtest.Fault{Status: 400, Media: "application/json", Raw: `{"error":{"message":` + quote(text) + `,"type":"x"}}`}})
		for _, v := range some {
			g.read.post(thread+"/title", url.Values{"title": {v}})
			g.check(t, thread+"/menu")
		}
		next(llmtest.Reply{Calls: []llmtest.Call{{ID: "c4", Name: "file_write", Arguments: []string{`{"path":"w` + fmt.Sprint(i) + `.md","content":` + quote(text) + `}`}}}})
	}
}

// rest waits until nothing is being written.
func (g *gallery) rest(t *testing.T, thread string) {
	t.Helper()
	eventually(t, "the turn never ended", func() bool { return !strings.Contains(g.read.get(thread), `aria-label="Stop"`) })
}

// TestNoVectorRuns puts every vector into every place, looks at the markup by itself, and then has Chromium show all of it: as Ash serves it, and without its
// policy, so that only the markup protects. Everything is touched, and streams are seen as they come.
func TestNoVectorRuns(t *testing.T) {
	needBrowser(t)
	vectors := xssVectors()
	if len(vectors) < 150 {
		t.Fatalf("only %d vectors", len(vectors))
	}
	g := newGallery(t, vectors)
	for _, p := range g.pages {
		g.check(t, p)
	}
	for _, bypass := range []bool{false, true} {
		b := newPerson(t).visit(desktop, g.srv.url, "/chat/new")
		b.expect("400", "404", "422")
		b.run(page.SetBypassCSP(bypass))
		for _, p := range g.pages {
			b.goTo(p)
			if n := eval[int](b, touchEverything); n == 0 {
				t.Errorf("%s: nothing to touch", p)
			}
			if b.holds(`window.pwned`) {
				t.Errorf("%s, without the policy %v: vector %d ran: %s", agent.Clip(p, 100), bypass, eval[int](b, `window.pwned`), vectors[eval[int](b, `window.pwned`)-1])
			}
		}
	}
	t.Logf("%d vectors, %d pages", len(vectors), len(g.pages))
}

// touchEverything tells every element what a person's hands would, and opens what is folded; links are not followed and forms not sent.
const touchEverything = `(async () => {
	addEventListener("click", (e) => e.preventDefault(), true);
	addEventListener("submit", (e) => e.preventDefault(), true);
	const all = [...document.querySelectorAll("main *, nav *, aside *")];
	for (const d of document.querySelectorAll("main details")) d.open = true;
	for (const e of all) {
		for (const what of ["mouseover", "pointerenter", "mouseenter", "focus", "error", "load", "toggle", "animationstart", "scroll", "close", "start"]) e.dispatchEvent(new Event(what));
		if (e.closest(".prose, .bubble")) e.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
	}
	await new Promise((done) => setTimeout(done, 60));
	return all.length;
})()`

// TestNoVectorRunsWhileItStreams shows the vectors as they arrive, cut into small pieces, with the policy off.
func TestNoVectorRunsWhileItStreams(t *testing.T) {
	needBrowser(t)
	m := newModel(t)
	m.calm = true
	vectors := xssVectors()
	n := 0
	for some := range slices.Chunk(vectors, 40) {
		n++
		m.push(&reply{Reply: llmtest.Reply{Thinking: pieces(strings.Join(some, "\n\n"), 11), Text: pieces(strings.Join(some, "\n\n"), 5)}})
	}
	b := newPerson(t).visit(desktop, serveModel(t, m).url, "/chat/new")
	b.run(page.SetBypassCSP(true))
	b.goTo("/chat/new")
	for i := range n {
		b.send("Go on.")
		b.until(fmt.Sprintf("%s.length === %d && %s", answers, i+1, idle)) // a comment that never ends hides what comes after it
		eval[int](b, touchEverything)
		if b.holds(`window.pwned`) {
			t.Fatalf("vector %d ran: %s", eval[int](b, `window.pwned`), vectors[eval[int](b, `window.pwned`)-1])
		}
		b.reload()
		b.until(online)
		if b.holds(`window.pwned`) {
			t.Fatalf("after a reload vector %d ran", eval[int](b, `window.pwned`))
		}
	}
}

// TestVectorsWork: where nothing protects, the look at the markup sees most vectors and Chromium runs many; so the tests above can fail.
func TestVectorsWork(t *testing.T) {
	seen := 0
	for _, v := range xssVectors() {
		if len(unsafe(v)) > 0 {
			seen++
		}
	}
	if seen < 150 {
		t.Errorf("only %d vectors are seen in markup", seen)
	}
	needBrowser(t)
	var shown atomic.Value // a string; Chromium may still ask for what it was shown last
	shown.Store("")
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<!DOCTYPE html><main><div class=prose>"+shown.Load().(string)+"</div></main>")
	}))
	defer s.Close()
	ran := 0
	b := newPerson(t).visit(desktop, s.URL, "/")
	b.expect("") // whatever they bring about
	for _, v := range xssVectors()[:60] {
		shown.Store(v)
		b.goTo("/")
		eval[int](b, touchEverything)
		if b.holds(`window.pwned`) {
			ran++
		}
	}
	if ran < 20 {
		t.Errorf("only %d of 60 vectors run where nothing protects", ran)
	}
	t.Logf("%d vectors seen in markup, %d of 60 ran", seen, ran)
}
