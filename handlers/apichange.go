package handlers

import (
	"cmp"
	"context"
	"crypto/sha256"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/access"
	"ash/agent/memory"
)

const (
	apiThings    = 16  // names a memory may be about
	apiThingSize = 120 // bytes of a name
	apiLabelMost = 8
	apiLabelSize = 256 // bytes of a label's source
	keySize      = 255 // bytes of an Idempotency-Key
)

func (h *API) writeRoutes() []APIRoute {
	writing := []access.Scope{access.ScopeMemory}
	memory := []string{"ETag", "Location"}
	return []APIRoute{
		{
			Method: http.MethodPost, Path: "/memories", Handle: h.Add,
			name: "addMemory", summary: "Remember something",
			about: "The answer comes once the memory is on the disk. What is remembered already is not kept twice: the answer is 200 with the one from then. " +
				"With an Idempotency-Key a request can be sent again: one key, one memory, for 30 days. Secrets are refused, and what was forgotten.",
			scopes: writing, body: reflect.TypeFor[APINewMemory](), fails: []int{400, 403, 409, 410, 413, 415, 422},
			params: []apiParam{{name: "Idempotency-Key", in: "header", kind: kindKey, about: "Any text of the caller's that stands for this request, as a UUID: at most 255 visible ASCII characters."}},
			answers: []apiAnswer{
				{status: 201, about: "It is remembered.", body: reflect.TypeFor[APIMemory](), headers: memory},
				{status: 200, about: "It was remembered already, or the key was used before.", body: reflect.TypeFor[APIMemory](), headers: memory},
			},
		},
		{
			Method: http.MethodPatch, Path: "/memories/{id}", Handle: h.Edit,
			name: "editMemory", summary: "Correct or change a memory",
			about: "Needs If-Match with the version that is changed, so that nobody's change is lost; * for whichever it is. A new text makes a new memory that " +
				"supersedes this one, which stays as its history: Location leads to it.",
			scopes: writing, body: reflect.TypeFor[APIEdit](), fails: []int{400, 403, 404, 409, 412, 413, 415, 422, 428},
			params:  []apiParam{idParam(), {name: "If-Match", in: "header", kind: kindText, required: true, about: "The memory's version, or *."}},
			answers: []apiAnswer{{status: 200, about: "The memory as it is now.", body: reflect.TypeFor[APIMemory](), headers: memory}},
		},
	}
}

// Add answers POST /memories.
func (h *API) Add(c echo.Context) error {
	ctx := c.Request().Context()
	if _, err := readQuery(c, nil); err != nil {
		return err
	}
	key, err := requestKey(c.Request())
	if err != nil {
		return err
	}
	in, raw, err := readJSON[APINewMemory](c.Request())
	if err != nil {
		return err
	}
	f, err := h.newFact(c, in)
	if err != nil {
		return err
	}
	if key == "" {
		kept, err := h.Book.Remember(ctx, f, false)
		if err != nil {
			return asForgotten(err)
		}
		return h.answerMemory(c, addStatus(kept), kept.Fact)
	}
	return h.addOnce(c, f, key, string(raw))
}

func addStatus(k memory.Kept) int {
	if k.Known {
		return http.StatusOK
	}
	return http.StatusCreated
}

// addOnce keeps a fact unless a request with the key did. The id comes of the key, so that of two requests at the same time, or after a crash
// between keeping and noting, one makes it and the other finds it.
func (h *API) addOnce(c echo.Context, f agent.Fact, key, body string) error {
	ctx, token := c.Request().Context(), caller(c).ID
	f.ID = idOf(token, key)
	made, same, err := h.Requests.MadeBy(ctx, token, key, body)
	switch {
	case err != nil:
		return err
	case made != "" && !same:
		return agent.Errorf(agent.CodeInvalid, "This Idempotency-Key was used for another request. Use a new one for each.")
	}
	known, err := h.owned(ctx, cmp.Or(made, f.ID))
	switch {
	case agent.CodeOf(err) != agent.CodeNotFound:
		return h.again(c, known, err)
	case made != "":
		return &StatusError{Status: http.StatusGone, Public: "What this request made is no longer remembered."}
	}
	kept, err := h.Book.Remember(ctx, f, false)
	if agent.CodeOf(err) == agent.CodeConflict { // the same request, twice in this instant
		if known, gone := h.owned(ctx, f.ID); gone == nil {
			return h.again(c, known, nil)
		}
	}
	if err != nil {
		return asForgotten(err)
	}
	if err := h.Requests.NoteMade(ctx, token, key, body, kept.Fact.ID); err != nil {
		return err // it is kept; sent again, the request finds it
	}
	return h.answerMemory(c, addStatus(kept), kept.Fact)
}

// asForgotten tells what was forgotten from other things that are not allowed: only the owner themselves can have it remembered again.
func asForgotten(err error) error {
	if agent.CodeOf(err) != agent.CodeDenied {
		return err
	}
	return &StatusError{Status: http.StatusForbidden, Type: "forgotten", Public: "The owner had this forgotten. It is remembered again only when they say so themselves.", Err: err}
}

// again answers a request that was done before.
func (h *API) again(c echo.Context, f agent.Fact, err error) error {
	if err != nil {
		return err
	}
	c.Response().Header().Set("Idempotency-Replayed", "true")
	return h.answerMemory(c, http.StatusOK, f)
}

// idOf is the id of what a request of a token with a key makes: a UUID of version 8 (RFC 9562, 5.8).
func idOf(token agent.ID, key string) agent.ID {
	sum := sha256.Sum256([]byte("ash request\x00" + string(token) + "\x00" + key))
	id := uuid.UUID(sum[:16])
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80
	return agent.ID(id.String())
}

// requestKey reads the Idempotency-Key; "" when there is none.
func requestKey(r *http.Request) (string, error) {
	given := r.Header.Values("Idempotency-Key")
	if len(given) == 0 {
		return "", nil
	}
	key := given[0]
	strange := func(r rune) bool { return r < ' ' || r > '~' }
	if len(given) > 1 || strings.TrimSpace(key) == "" || len(key) > keySize || strings.ContainsFunc(key, strange) {
		return "", agent.Errorf(agent.CodeInvalid, "An Idempotency-Key is 1 to %d visible ASCII characters, given once.", keySize)
	}
	return key, nil
}

func (h *API) answerMemory(c echo.Context, status int, f agent.Fact) error {
	c.Response().Header().Set("ETag", tagOf(f))
	c.Response().Header().Set(echo.HeaderLocation, APIPrefix+"/memories/"+string(f.ID))
	return answer(c, status, apiMemory(f))
}

// newFact makes the fact of a request. It is the owner's, entered through the caller's token.
func (h *API) newFact(c echo.Context, in APINewMemory) (agent.Fact, error) {
	f := agent.Fact{
		Owner: h.Owner, Kind: in.Kind, Confidence: 1, Importance: .5, Pinned: in.Pinned, Said: h.Now(),
		From: in.From.Time, Until: in.Until.Time, Expires: in.Expires.Time, Source: source(c),
	}
	if in.Kind == "" {
		f.Kind = agent.FactPlain
	}
	if in.Importance != nil {
		f.Importance = *in.Importance
	}
	if !in.Said.Time.IsZero() {
		f.Said = in.Said.Time
	}
	var err error
	if f.Text, err = h.statement(in.Text); err != nil {
		return f, err
	}
	if f.Entities, err = h.things(in.About); err != nil {
		return f, err
	}
	if f.Labels, err = h.labels(in.Labels); err != nil {
		return f, err
	}
	return f, h.check(f)
}

func source(c echo.Context) agent.Provenance {
	return agent.Provenance{Kind: agent.SourceAPI, Via: caller(c).Via()}
}

// check holds what is to be kept to its bounds, where the book would bring it into them unasked.
func (h *API) check(f agent.Fact) error {
	switch {
	case !slices.Contains(factKinds(), f.Kind):
		return agent.Errorf(agent.CodeInvalid, "kind is core, fact or pattern.")
	case f.Importance < 0 || f.Importance > 1:
		return agent.Errorf(agent.CodeInvalid, "importance is from 0 to 1.")
	case f.Said.After(h.Now().Add(24 * time.Hour)):
		return agent.Errorf(agent.CodeInvalid, "said is a time that has not come yet.")
	}
	return nil
}

// statement checks a text. What is a secret is not told again in the error.
func (h *API) statement(text string) (string, error) {
	text, err := clean(strings.TrimSpace(text))
	switch {
	case err != nil:
		return "", err
	case text == "":
		return "", agent.Errorf(agent.CodeInvalid, "text is missing: one statement, complete by itself.")
	case strings.Contains(text, "[forgotten]"):
		return "", agent.Errorf(agent.CodeInvalid, "Something in it was forgotten at the owner's wish. Leave it so.")
	case h.Redact(text) != text:
		return "", errSecret()
	}
	return text, nil
}

func errSecret() error {
	return agent.Errorf(agent.CodeInvalid, "It holds what looks like a password or key. Those are not kept in memory.")
}

func (h *API) things(list []APIThing) ([]agent.Entity, error) {
	if len(list) > apiThings {
		return nil, agent.Errorf(agent.CodeInvalid, "about has at most %d names.", apiThings)
	}
	out := make([]agent.Entity, 0, len(list))
	for _, x := range list {
		name := onOneLine(x.Name)
		switch x.Kind {
		case "", agent.EntityPerson, agent.EntityPlace, agent.EntityProject, agent.EntityThing:
		default:
			return nil, agent.Errorf(agent.CodeInvalid, "The kind of a name in about is person, place, project or thing.")
		}
		if name == "" || len(name) > apiThingSize {
			return nil, agent.Errorf(agent.CodeInvalid, "A name in about has 1 to %d bytes.", apiThingSize)
		}
		if h.Redact(name) != name {
			return nil, errSecret()
		}
		out = append(out, agent.Entity{Name: name, Kind: x.Kind})
	}
	return out, nil
}

// labels reads what a caller says of where a text came from.
func (h *API) labels(list []APILabel) (agent.Labels, error) {
	if len(list) > apiLabelMost {
		return nil, agent.Errorf(agent.CodeInvalid, "There are at most %d labels.", apiLabelMost)
	}
	var out agent.Labels
	for _, x := range list {
		from := onOneLine(x.Source)
		switch {
		case x.Kind != agent.LabelUntrusted && x.Kind != agent.LabelPrivate:
			return nil, agent.Errorf(agent.CodeInvalid, "The kind of a label is untrusted or private.")
		case from == "" || len(from) > apiLabelSize:
			return nil, agent.Errorf(agent.CodeInvalid, "The source of a label has 1 to %d bytes: a host, a file, a channel.", apiLabelSize)
		case h.Redact(from) != from:
			return nil, errSecret()
		}
		out = append(out, agent.Label{Source: from, Kind: x.Kind, Private: x.Private})
	}
	return out.Union(), nil
}

// Edit answers PATCH /memories/{id}.
func (h *API) Edit(c echo.Context) error {
	ctx := c.Request().Context()
	if _, err := readQuery(c, nil); err != nil {
		return err
	}
	in, _, err := readJSON[APIEdit](c.Request())
	if err != nil {
		return err
	}
	old, err := h.fact(c)
	if err != nil {
		return err
	}
	base, err := matched(c.Request(), old, true)
	if err != nil {
		return err
	}
	kept, err := h.change(ctx, c, old, base, in)
	if agent.CodeOf(err) == agent.CodeConflict && !base.IsZero() && old.Status == agent.FactCurrent {
		return errStale(err) // it changed between the look and the change
	}
	if err != nil {
		return err
	}
	return h.answerMemory(c, http.StatusOK, kept)
}

// matched holds a request to the version it was made for, and returns the state it may change; zero for whichever it is.
func matched(r *http.Request, f agent.Fact, needed bool) (time.Time, error) {
	given := r.Header.Values("If-Match")
	if len(given) == 0 {
		if needed {
			return time.Time{}, &StatusError{Status: http.StatusPreconditionRequired, Public: "Say which version you change: If-Match with the memory's version, or * for whichever it is."}
		}
		return time.Time{}, nil
	}
	for tag := range strings.SplitSeq(strings.Join(given, ","), ",") {
		switch strings.TrimSpace(tag) {
		case "*":
			return time.Time{}, nil
		case tagOf(f), versionOf(f): // the quotes get lost on the way through a shell
			return f.Updated, nil
		}
	}
	return time.Time{}, errStale(nil)
}

func errStale(err error) error {
	return &StatusError{Status: http.StatusPreconditionFailed, Err: err, Public: "The memory has changed since that version. Look at it again, then decide."}
}

// change does an edit: another text by a memory that supersedes the old one, anything else in place. Both are one step.
func (h *API) change(ctx context.Context, c echo.Context, old agent.Fact, base time.Time, in APIEdit) (agent.Fact, error) {
	d := memory.Detail{Kind: in.Kind, Importance: in.Importance, Pinned: in.Pinned}
	for _, x := range []struct {
		to   **time.Time
		from APIMoment
	}{{&d.From, in.From}, {&d.Until, in.Until}, {&d.Expires, in.Expires}} {
		if x.from.Set {
			*x.to = &x.from.Time
		}
	}
	if in.About != nil {
		things, err := h.things(*in.About)
		if err != nil {
			return agent.Fact{}, err
		}
		d.Entities = &things
	}
	if in.Text == nil && in.Labels == nil && d == (memory.Detail{}) {
		return agent.Fact{}, agent.Errorf(agent.CodeInvalid, "There is nothing to change in that.")
	}
	checked := agent.Fact{Kind: old.Kind, Importance: old.Importance, Said: h.Now()}
	if in.Kind != nil {
		checked.Kind = *in.Kind
	}
	if in.Importance != nil {
		checked.Importance = *in.Importance
	}
	if err := h.check(checked); err != nil {
		return agent.Fact{}, err
	}
	if in.Text == nil {
		if in.Labels != nil {
			return agent.Fact{}, agent.Errorf(agent.CodeInvalid, "labels belong to a text. Send both.")
		}
		return h.Book.Edit(ctx, old.ID, base, d)
	}
	return h.correct(ctx, c, old, base, *in.Text, in.Labels, d)
}

// correct gives a memory another text. What the book takes from the old memory when it is left out cannot be taken away in the same step.
func (h *API) correct(ctx context.Context, c echo.Context, old agent.Fact, base time.Time, text string, labels []APILabel, d memory.Detail) (agent.Fact, error) {
	switch {
	case d.Pinned != nil && !*d.Pinned && old.Pinned, d.Expires != nil && d.Expires.IsZero() && !old.Expires.IsZero(),
		d.Importance != nil && *d.Importance == 0 && old.Importance != 0:
		return agent.Fact{}, agent.Errorf(agent.CodeInvalid, "A new text keeps what it is not given: take away pinned, expires or importance in a request of its own.")
	}
	f := agent.Fact{Said: h.Now(), Confidence: 1, From: old.From, Until: old.Until, Source: source(c)}
	var err error
	if f.Text, err = h.statement(text); err != nil {
		return f, err
	}
	if f.Labels, err = h.labels(labels); err != nil {
		return f, err
	}
	give(&f.Kind, d.Kind)
	give(&f.Importance, d.Importance)
	give(&f.Pinned, d.Pinned)
	give(&f.From, d.From)
	give(&f.Until, d.Until)
	give(&f.Expires, d.Expires)
	give(&f.Entities, d.Entities)
	kept, err := h.Book.Correct(ctx, old.ID, base, f)
	return kept, asForgotten(err)
}

func give[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}
