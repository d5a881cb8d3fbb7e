package handlers_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"ash/agent"
	"ash/handlers"
	"ash/web/webtest"
)

// operations are all that the API does with a token, as its description lists them, each with a request that would succeed.
func (h *apiHouse) operations() map[string]func(headers ...string) *reply {
	h.t.Helper()
	m := h.add("The bins go out on " + string(agent.NewID()))
	gone := h.add("Ferdinand has " + string(agent.NewID()))
	one, forget := "/memories/"+string(m.ID), "/memories/"+string(gone.ID)
	t, err := h.engine.CreateThread(h.t.Context(), agent.Origin{Channel: "web", Person: h.owner})
	h.must(err)
	thread := "/threads/" + string(t.ID)
	list := map[string]func(headers ...string) *reply{
		"GET /threads":               func(x ...string) *reply { return h.raw("GET", "/threads", "", x...) },
		"POST /threads":              func(x ...string) *reply { return h.raw("POST", "/threads", `{}`, x...) },
		"GET /threads/{id}":          func(x ...string) *reply { return h.raw("GET", thread, "", x...) },
		"GET /threads/{id}/messages": func(x ...string) *reply { return h.raw("GET", thread+"/messages", "", x...) },
		"POST /threads/{id}/messages": func(x ...string) *reply {
			return h.raw("POST", thread+"/messages", `{"text":"hello"}`, x...)
		},
		"POST /threads/{id}/stop":  func(x ...string) *reply { return h.raw("POST", thread+"/stop", "", x...) },
		"GET /threads/{id}/events": func(x ...string) *reply { return h.raw("GET", thread+"/events", "", x...) },
		"GET /memories":            func(x ...string) *reply { return h.raw("GET", "/memories", "", x...) },
		"GET /memories/search":     func(x ...string) *reply { return h.raw("GET", "/memories/search?q=bins", "", x...) },
		"GET /memories/{id}":       func(x ...string) *reply { return h.raw("GET", one, "", x...) },
		"POST /memories": func(x ...string) *reply {
			return h.raw("POST", "/memories", `{"text":"New `+string(agent.NewID())+`"}`, x...)
		},
		"PATCH /memories/{id}":  func(x ...string) *reply { return h.raw("PATCH", one, `{"pinned":true}`, append(x, "If-Match", "*")...) },
		"DELETE /memories/{id}": func(x ...string) *reply { return h.raw("DELETE", forget, "", x...) },
		"GET /forgettings":      func(x ...string) *reply { return h.raw("GET", "/forgettings", "", x...) },
		"POST /forgettings/{id}/undo": func(x ...string) *reply {
			return h.raw("POST", "/forgettings/"+string(agent.NewID())+"/undo", "", x...)
		},
	}
	for path, methods := range h.doc.Paths {
		for method := range methods {
			if name := strings.ToUpper(method) + " " + path; list[name] == nil && path != "/openapi.json" {
				h.t.Errorf("%s is described and not tried here", name)
			}
		}
	}
	return list
}

// TestAPIDoors tries every operation with everything that must not open it.
func TestAPIDoors(t *testing.T) {
	h := openAPI(t)
	_, expired := h.token("gone", "admin"), h.token("soon", "admin")
	if _, err := h.tokens.Revoke(t.Context(), "soon"); err != nil {
		t.Fatal(err)
	}
	cookie := "ash-00000000=x; session=" + string(h.secret)
	var bodies []string
	for name, try := range h.operations() {
		before := len(h.list("?status=all&limit=200"))
		for what, x := range map[string]struct {
			status  int
			headers []string
		}{
			"no token":              {401, []string{"Authorization", ""}},
			"a cookie":              {401, []string{"Authorization", "", "Cookie", cookie}},
			"basic":                 {401, []string{"Authorization", "Basic " + string(h.secret)}},
			"no scheme":             {401, []string{"Authorization", string(h.secret)}},
			"a revoked one":         {401, []string{"Authorization", "Bearer " + string(expired)}},
			"a mistyped one":        {401, []string{"Authorization", "Bearer " + string(h.secret) + "0"}},
			"another origin":        {403, []string{"Origin", "https://evil.example"}},
			"no origin":             {403, []string{"Origin", "null"}},
			"cross-site":            {403, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors"}},
			"same-site":             {403, []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "no-cors"}},
			"another host":          {403, []string{"Host", "evil.example"}},
			"a proxy":               {401, []string{"Authorization", "", "X-Forwarded-For", "127.0.0.1"}},
			"tailscale":             {401, []string{"Authorization", "", "Tailscale-User-Login", "me@example.com"}},
			"a page's token":        {401, []string{"Authorization", "", "X-Csrf-Token", string(h.secret)}},
			"cross-site and cookie": {403, []string{"Authorization", "", "Cookie", cookie, "Sec-Fetch-Site", "cross-site"}},
		} {
			r := try(x.headers...)
			if r.status == 429 {
				r.is(429)
				if r.header.Get("Retry-After") == "" {
					t.Errorf("%s with %s: no Retry-After", name, what)
				}
				continue
			}
			r.is(x.status)
			if x.status == 401 {
				var p handlers.APIFailure
				h.must(json.Unmarshal(r.body, &p))
				bodies = append(bodies, strings.ReplaceAll(string(r.body), p.Request, ""))
				if got := r.header.Values("WWW-Authenticate"); !slices.Equal(got, []string{`Bearer realm="ash"`}) {
					t.Errorf("%s with %s: WWW-Authenticate %q", name, what, got)
				}
			}
		}
		if after := len(h.list("?status=all&limit=200")); after != before {
			t.Errorf("%s did something", name)
		}
	}
	if slices.Sort(bodies); len(slices.Compact(bodies)) != 1 || len(bodies) < 10 {
		t.Errorf("refusals differ: %q", slices.Compact(bodies))
	}
	// What is refused was refused for its headers: without them it succeeds.
	for name, try := range h.operations() {
		if r := try(); r.status >= 300 && name != "POST /forgettings/{id}/undo" {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
		if r := try("Origin", h.base, "Sec-Fetch-Site", "same-origin", "Cookie", cookie); r.status == 401 || r.status == 403 {
			t.Errorf("%s from a page of ours: %d", name, r.status)
		}
		// A token is what a program has in the place of a session, wherever it is.
		if r := try("X-Forwarded-For", "192.168.1.9"); r.status == 401 || r.status == 403 {
			t.Errorf("%s through a proxy: %d", name, r.status)
		}
	}
}

func TestAPIScopes(t *testing.T) {
	h := openAPI(t)
	for scope, may := range map[string][]string{
		"read": {"GET /memories", "GET /memories/search", "GET /memories/{id}", "GET /threads", "GET /threads/{id}", "GET /threads/{id}/messages", "GET /threads/{id}/events"},
		"chat": {"GET /threads", "GET /threads/{id}", "GET /threads/{id}/messages", "GET /threads/{id}/events", "POST /threads", "POST /threads/{id}/messages", "POST /threads/{id}/stop"},
		"memory": {"GET /memories", "GET /memories/search", "GET /memories/{id}", "POST /memories", "PATCH /memories/{id}", "DELETE /memories/{id}", "GET /forgettings",
			"POST /forgettings/{id}/undo"},
		"admin": nil,
	} {
		secret := string(h.token("t-"+scope, scope))
		for name, try := range h.operations() {
			r := try("Authorization", "bearer  "+secret)
			if allowed := may == nil || slices.Contains(may, name); allowed {
				if r.status == 401 || r.status == 403 {
					t.Errorf("%s may not %s: %s", scope, name, r.body)
				}
				continue
			}
			r.is(403, "urn:ash:problem:insufficient-scope")
			narrowest := "memory"
			switch {
			case strings.HasPrefix(name, "GET /memories"), strings.HasPrefix(name, "GET /threads"):
				narrowest = "read"
			case strings.Contains(name, " /threads"):
				narrowest = "chat"
			}
			want := `Bearer realm="ash", error="insufficient_scope", scope="` + narrowest + `"`
			if got := r.header.Get("WWW-Authenticate"); got != want {
				t.Errorf("%s, %s: %s", scope, name, got)
			}
		}
	}
}

// TestAPITokenOpensNoPage holds the exemption to the API: elsewhere a token is nothing.
func TestAPITokenOpensNoPage(t *testing.T) {
	h := openAPI(t)
	for _, path := range []string{"/settings/general", "/memory/new", "/api/v1x", "/api/v2/memories", "/api", "/apiv1/memories", "/memories"} {
		req, err := http.NewRequestWithContext(t.Context(), "POST", h.base+path, strings.NewReader(`{"text":"x"}`))
		h.must(err)
		req.Header.Set("Authorization", "Bearer "+string(h.secret))
		req.Header.Set("Content-Type", "application/json")
		res, err := h.client.Do(req)
		h.must(err)
		h.must(res.Body.Close())
		if res.StatusCode != 403 && res.StatusCode != 415 {
			t.Errorf("%s: %s", path, res.Status)
		}
	}
}

func TestAPIRevokedAtOnce(t *testing.T) {
	h := openAPI(t)
	for range 3 {
		h.ask("GET", "/memories", "").is(200)
	}
	if _, err := h.tokens.Revoke(t.Context(), "app"); err != nil {
		t.Fatal(err)
	}
	h.ask("GET", "/memories", "").is(401)
}

func TestAPIGuessersWait(t *testing.T) {
	h := openAPI(t)
	h.ask("GET", "/memories", "").is(200)
	var waits int
	for range 20 {
		if r := h.ask("GET", "/memories", "", "Authorization", "Bearer ash_wrong"); r.status == 429 {
			r.is(429)
			waits++
		} else {
			r.is(401)
		}
	}
	if waits < 10 {
		t.Errorf("%d of 20 had to wait", waits)
	}
	h.ask("GET", "/memories", "").is(200) // one that works is not kept out
}

func TestAPIRefusesOtherBodies(t *testing.T) {
	h := openAPI(t)
	good := `{"text":"The bins go out on Tuesday."}`
	for _, media := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/json", "application/json; charset=latin1", "application/json-patch+json", "application/jsonx"} {
		h.ask("POST", "/memories", good, "Content-Type", media).is(415)
	}
	h.ask("POST", "/memories", good, "Content-Encoding", "gzip").is(415)
	for body, status := range map[string]int{
		"":                                415, // ask names JSON only for a body
		"{":                               400,
		"null":                            422,
		"[]":                              422,
		`"text"`:                          422,
		"7":                               422,
		good + "x":                        400,
		good + good:                       400,
		`{"text":"a"`:                     400,
		"{\"text\":\"a\xff b\"}":          400,
		`{"text":"half \ud800 pair"}`:     400,
		`{"text":"half \udc00 pair"}`:     400,
		`{"text":"bad \x escape"}`:        400,
		`{"text":"bad \u12 escape"}`:      400,
		"{\"text\":\"raw \x01 control\"}": 400,
		`{"text":"a NUL \u0000 b"}`:       422,
		`{"text":"x y","Text":"z"}`:       422,
		`{"TEXT":"x y"}`:                  422,
		`{"text":"x y","text":"z"}`:       422,
		`{"text":"x y","about":[{"name":"a","name":"b"}]}`:           422,
		`{"text":"x y","about":[{"nome":"a"}]}`:                      422,
		`{"text":"x y","about":{}}`:                                  422,
		`{"text":"x y","about":[7]}`:                                 422,
		`{"text":"x y","about":null}`:                                422,
		`{"text":"x y","extra":1}`:                                   422,
		`{"text":7}`:                                                 422,
		`{"text":["x"]}`:                                             422,
		`{"text":{"a":1}}`:                                           422,
		`{"text":null}`:                                              422,
		`{}`:                                                         422,
		`{"text":"  "}`:                                              422,
		`{"text":"…"}`:                                               422,
		`{"text":"x [forgotten] y"}`:                                 422,
		`{"text":"` + strings.Repeat("a", 2001) + `"}`:               422,
		`{"text":"x y","kind":"episode"}`:                            422,
		`{"text":"x y","importance":2}`:                              422,
		`{"text":"x y","importance":1e999}`:                          422,
		`{"text":"x y","importance":"1"}`:                            422,
		`{"text":"x y","pinned":1}`:                                  422,
		`{"text":"x y","said":"yesterday"}`:                          422,
		`{"text":"x y","said":"2999-01-01T00:00:00Z"}`:               422,
		`{"text":"x y","said":"0001-01-01T00:00:00Z"}`:               422,
		`{"text":"x y","said":{"a":1}}`:                              422,
		`{"text":"x y","labels":[{"source":"a","kind":"trusted"}]}`:  422,
		`{"text":"x y","labels":[{"source":"","kind":"private"}]}`:   422,
		`{"text":"x y","id":"01a1ff2b-fb59-7e9a-b7b8-ddaa495fc267"}`: 422,
		`{"text":"x y","about":[` + strings.Repeat(`{"name":"a"},`, 16) + `{"name":"b"}]}`: 422,
		`{"text":"x y","about":[{"name":"` + strings.Repeat("a", 121) + `"}]}`:             422,
		strings.Repeat(`{"text":`, 9) + "1" + strings.Repeat("}", 9):                       400,
		strings.Repeat("[", 10_000):                      400,
		`{"text":"` + strings.Repeat("a", 70<<10) + `"}`: 413,
	} {
		h.ask("POST", "/memories", body).is(status)
	}
	chunked, err := http.NewRequestWithContext(t.Context(), "POST", h.base+"/api/v1/memories", struct{ *strings.Reader }{strings.NewReader(strings.Repeat(" ", 1<<20))})
	h.must(err)
	chunked.ContentLength = -1
	chunked.Header.Set("Authorization", "Bearer "+string(h.secret))
	chunked.Header.Set("Content-Type", "application/json")
	res, err := h.client.Do(chunked)
	h.must(err)
	h.must(res.Body.Close())
	if res.StatusCode != 413 {
		t.Errorf("without a length: %s", res.Status)
	}
	if got := h.list("?status=all"); len(got) != 0 {
		t.Errorf("kept %q", got)
	}
	m := h.add("Straße 🗝️ \u4f60\u597d \u202e!", `,"importance":1`)
	if got := into[handlers.APIMemory](h.ask("POST", "/memories", `{"text":"Straße \ud83d\udddd\ufe0f 你好 `+"\u202e"+`!"}`).is(200)); got.ID != m.ID {
		t.Errorf("another memory: %+v", got)
	}
}

// TestAPIIsDescribed holds the description to the routes, both ways.
func TestAPIIsDescribed(t *testing.T) {
	h := openAPI(t)
	if h.doc.OpenAPI != "3.1.0" || len(h.doc.Servers) != 1 || h.doc.Servers[0].URL != handlers.APIPrefix || h.doc.Components.SecuritySchemes["token"].Scheme != "bearer" {
		t.Errorf("%s, %+v", h.doc.OpenAPI, h.doc.Servers)
	}
	api := handlers.NewAPI(handlers.APIParts{})
	var routes, described, names []string
	for _, r := range api.Routes() {
		routes = append(routes, r.Method+" "+r.Path)
		op := h.doc.Paths[r.Path][strings.ToLower(r.Method)]
		if open := op.Security != nil && len(*op.Security) == 0; open != r.Open {
			t.Errorf("%s %s: open %v, described as %v", r.Method, r.Path, r.Open, open)
		}
	}
	for path, methods := range h.doc.Paths {
		for method, op := range methods {
			described = append(described, strings.ToUpper(method)+" "+path)
			names = append(names, op.OperationID)
			for _, p := range op.Parameters {
				if inPath := strings.Contains(path, "{"+p.Name+"}"); inPath != (p.In == "path") || p.In == "path" && !p.Required {
					t.Errorf("%s %s: parameter %+v", method, path, p)
				}
			}
			if strings.Count(path, "{") > 0 && len(op.Parameters) == 0 {
				t.Errorf("%s: no parameters", path)
			}
		}
	}
	slices.Sort(routes)
	slices.Sort(described)
	if !slices.Equal(routes, described) {
		t.Errorf("routes %q\ndescribed %q", routes, described)
	}
	if slices.Sort(names); len(slices.Compact(names)) != len(described) || slices.Contains(names, "") {
		t.Errorf("names %q", names)
	}
	// And no route of the server is outside of that table.
	for _, r := range described {
		method, path, _ := strings.Cut(r, " ")
		r := h.raw(method, strings.ReplaceAll(path, "{id}", string(agent.NewID())), "")
		if r.status == 405 || r.status == 404 && !strings.Contains(path, "{id}") {
			t.Errorf("%s %s is described and answers %d", method, path, r.status)
		}
		address := strings.ReplaceAll(path, "{id}", string(agent.NewID()))
		for _, other := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			ofID := path == "/memories/search" && h.doc.Paths["/memories/{id}"][strings.ToLower(other)].OperationID != ""
			if h.doc.Paths[path][strings.ToLower(other)].OperationID != "" || ofID {
				continue
			}
			if got := h.raw(other, address, ""); got.status != 405 {
				t.Errorf("%s %s is not described and answers %d", other, path, got.status)
			}
		}
	}
	if r := h.raw("PUT", "/memories", "").is(405); r.header.Get("Allow") != "GET, POST" {
		t.Errorf("Allow: %s", r.header.Get("Allow"))
	}
	h.raw("GET", "/nowhere", "").is(404, "openapi.json")
	h.raw("GET", "/nowhere", "", "Authorization", "").is(401)
	webtest.Open(t, h.base).Get("/api/v1/openapi.json").Is(200).Says(`"openapi": "3.1.0"`)
}

// TestAPIRequestsFitTheirSchemas holds what is read to what is described: a field of a wire type is one of the schema.
func TestAPIRequestsFitTheirSchemas(t *testing.T) {
	h := openAPI(t)
	for name, wire := range map[string]reflect.Type{"NewMemory": reflect.TypeFor[handlers.APINewMemory](), "Edit": reflect.TypeFor[handlers.APIEdit]()} {
		s := h.doc.Components.Schemas[name]
		for f := range wire.Fields() {
			field, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if s.Properties[field] == nil {
				t.Errorf("%s.%s is not described", name, field)
			}
		}
		if len(s.Properties) != wire.NumField() || s.AdditionalProperties == nil {
			t.Errorf("%s: %d properties, further ones are allowed: %v", name, len(s.Properties), s.AdditionalProperties == nil)
		}
	}
	if got := h.doc.Components.Schemas["NewMemory"].Required; !slices.Equal(got, []string{"text"}) {
		t.Errorf("required: %q", got)
	}
}

// FuzzAPIJSON reads what anybody may send: what is accepted must fit the schema, be text that can be kept, and mean the same to package json.
func FuzzAPIJSON(f *testing.F) {
	for _, s := range []string{
		`{"text":"The bins go out on Tuesday.","about":[{"name":"bins","kind":"thing"}],"importance":0.5,"said":"2024-01-01T00:00:00Z","expires":null}`,
		`{"text":"\ud83d\udddd","pinned":true,"labels":[{"source":"a","kind":"untrusted"}]}`, `{"text":"\u0000"}`, `{"text":"\ud800"}`, `{"text":"\\u0000"}`,
		`{"text":"a","text":"b"}`, `{"Text":"a"}`, `{"text":null}`, `[[[[[[[[[[`, `{"text":"\"}`, `{"text":"a"} {}`, `{"importance":1e400}`, "{\"text\":\"\xff\"}",
	} {
		f.Add([]byte(s))
	}
	h := openAPI(f)
	schema := h.doc.resolved["NewMemory"]
	f.Fuzz(func(t *testing.T, raw []byte) {
		in, err := handlers.ReadNewMemory(raw)
		if err != nil {
			if agent.PublicOf(err) == agent.PublicOf(nil) && !strings.Contains(err.Error(), "Bad Request") {
				t.Errorf("refused without words: %v", err)
			}
			return
		}
		var value map[string]any
		if err := json.Unmarshal(raw, &value); err != nil {
			t.Fatalf("accepted %q, which is no object: %v", raw, err)
		}
		kinds := in.Kind == "" || slices.Contains([]agent.FactKind{"core", "fact", "pattern"}, in.Kind)
		for _, a := range in.About {
			kinds = kinds && slices.Contains([]agent.EntityKind{"", "person", "place", "project", "thing"}, a.Kind)
		}
		for _, l := range in.Labels {
			kinds = kinds && slices.Contains([]agent.LabelKind{"untrusted", "private"}, l.Kind)
		}
		_, named := value["text"]
		if err := schema.Validate(value); err != nil && kinds && named {
			for _, a := range in.About {
				if a.Name == "" {
					return // required, and refused one step later
				}
			}
			for _, l := range in.Labels {
				if l.Source == "" {
					return
				}
			}
			t.Errorf("accepted %q, which is not as described: %v", raw, err)
		}
		if !utf8.ValidString(in.Text) || strings.Contains(in.Text, "\x00") || named && value["text"] != in.Text {
			t.Errorf("%q is read as %q", raw, in.Text)
		}
		if in.Said.Set && in.Said.Time.Equal(time.Time{}) != (value["said"] == nil) {
			t.Errorf("%q is read as %v", raw, in.Said)
		}
	})
}
