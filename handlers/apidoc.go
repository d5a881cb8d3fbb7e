package handlers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/access"
	"ash/agent/memory"
)

// The description is made of the routes and of the wire types, so that it cannot tell anything else than the code does.

// The parts of OpenAPI 3.1 (https://spec.openapis.org/oas/v3.1.1) that are used.
type (
	openAPI struct {
		OpenAPI    string                              `json:"openapi"`
		Info       openInfo                            `json:"info"`
		Servers    []openServer                        `json:"servers"`
		Security   []map[string][]string               `json:"security"`
		Paths      map[string]map[string]openOperation `json:"paths"`
		Components openComponents                      `json:"components"`
	}
	openInfo struct {
		Title       string `json:"title"`
		Version     string `json:"version"`
		Description string `json:"description"`
	}
	openServer struct {
		URL string `json:"url"`
	}
	openOperation struct {
		ID          string                  `json:"operationId"`
		Summary     string                  `json:"summary"`
		Description string                  `json:"description,omitempty"`
		Security    *[]map[string][]string  `json:"security,omitempty"` // empty: none is needed
		Parameters  []openParameter         `json:"parameters,omitempty"`
		Body        *openBody               `json:"requestBody,omitempty"`
		Responses   map[string]openResponse `json:"responses"`
	}
	openParameter struct {
		Name        string             `json:"name"`
		In          string             `json:"in"`
		Description string             `json:"description,omitempty"`
		Required    bool               `json:"required,omitempty"`
		Schema      *jsonschema.Schema `json:"schema"`
	}
	openBody struct {
		Required bool                 `json:"required"`
		Content  map[string]openMedia `json:"content"`
	}
	openMedia struct {
		Schema *jsonschema.Schema `json:"schema"`
	}
	openResponse struct {
		Description string                `json:"description"`
		Headers     map[string]openHeader `json:"headers,omitempty"`
		Content     map[string]openMedia  `json:"content,omitempty"`
	}
	openHeader struct {
		Description string             `json:"description"`
		Schema      *jsonschema.Schema `json:"schema"`
	}
	openComponents struct {
		Schemas         map[string]*jsonschema.Schema `json:"schemas"`
		SecuritySchemes map[string]openSecurity       `json:"securitySchemes"`
	}
	openSecurity struct {
		Type        string `json:"type"`
		Scheme      string `json:"scheme"`
		Description string `json:"description"`
	}
)

// apiKind says what a parameter may be.
type apiKind int

const (
	kindText apiKind = iota
	kindID
	kindFact
	kindStatus
	kindDay
	kindLimit
	kindHits
	kindFlag
	kindTraces
	kindKey
)

func (k apiKind) schema() *jsonschema.Schema {
	text := func(values ...any) *jsonschema.Schema { return &jsonschema.Schema{Type: "string", Enum: values} }
	count := func(most int) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "integer", Minimum: jsonschema.Ptr(1.0), Maximum: jsonschema.Ptr(float64(most))}
	}
	switch k {
	case kindID:
		return &jsonschema.Schema{Type: "string", Format: "uuid"}
	case kindFact:
		return text("core", "fact", "pattern")
	case kindStatus:
		return text("current", "superseded", "retired", "all")
	case kindLimit:
		return count(apiPageMost)
	case kindHits:
		return count(apiHitsMost)
	case kindFlag:
		return &jsonschema.Schema{Type: "boolean"}
	case kindTraces:
		return &jsonschema.Schema{Type: "array", Items: text()}
	case kindKey:
		return &jsonschema.Schema{Type: "string", MinLength: jsonschema.Ptr(1), MaxLength: jsonschema.Ptr(keySize)}
	case kindText, kindDay:
	}
	return text()
}

// wireSchemas are the schemas of named types within the wire types.
func wireSchemas() map[reflect.Type]*jsonschema.Schema {
	enum := func(values ...any) *jsonschema.Schema { return &jsonschema.Schema{Type: "string", Enum: values} }
	moment := &jsonschema.Schema{Type: "string", Format: "date-time"}
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[time.Time]():        moment,
		reflect.TypeFor[APIMoment]():        {Types: []string{"string", "null"}, Format: "date-time"},
		reflect.TypeFor[agent.ID]():         {Type: "string", Format: "uuid"},
		reflect.TypeFor[json.RawMessage]():  {},
		reflect.TypeFor[APIThreadState]():   enum(APIResting, APIRunning, APIWaiting),
		reflect.TypeFor[agent.Role]():       enum(agent.RoleUser, agent.RoleAssistant),
		reflect.TypeFor[agent.FactKind]():   enum(agent.FactCore, agent.FactPlain, agent.FactPattern),
		reflect.TypeFor[agent.FactStatus](): enum(agent.FactCurrent, agent.FactSuperseded, agent.FactRetired),
		reflect.TypeFor[agent.EntityKind](): enum(agent.EntityPerson, agent.EntityPlace, agent.EntityProject, agent.EntityThing),
		reflect.TypeFor[agent.LabelKind]():  enum(agent.LabelUntrusted, agent.LabelPrivate),
		reflect.TypeFor[agent.MemoryKind](): enum(agent.MemoryFact, agent.MemoryMessage, agent.MemoryEpisode, agent.MemoryNote),
		reflect.TypeFor[agent.SourceKind](): enum(agent.SourceMessage, agent.SourcePerson, agent.SourceNote, agent.SourceImport, agent.SourceMemories, agent.SourceAPI),
		reflect.TypeFor[memory.TraceKind](): enum(memory.TraceFact, memory.TraceMessage, memory.TraceThread, memory.TraceEpisode, memory.TraceSummary,
			memory.TraceTitle, memory.TraceProposal, memory.TraceVersion, memory.TraceSnapshot, memory.TraceFile),
		reflect.TypeFor[agent.Code](): enum(agent.CodeInvalid, agent.CodeNotFound, agent.CodeConflict, agent.CodeDenied, agent.CodeLocked,
			agent.CodeUnavailable, agent.CodeExhausted, agent.CodeInternal),
	}
}

// Describe answers GET /openapi.json.
func (h *API) Describe(c echo.Context) error {
	b, err := h.description()
	if err != nil {
		return agent.Wrap(agent.CodeInternal, err, "%s", agent.PublicOf(nil))
	}
	return c.Blob(http.StatusOK, echo.MIMEApplicationJSON, b)
}

// describe makes the description.
func (h *API) describe() ([]byte, error) {
	d := describer{schemas: map[string]*jsonschema.Schema{}, known: wireSchemas()}
	doc := openAPI{
		OpenAPI: "3.1.0",
		Info: openInfo{Title: "Ash", Version: h.Version, Description: "What Ash remembers, and conversations with it, for programs that act for its owner. Tokens are made with: ash token new. " +
			"Every error is a problem of RFC 9457."},
		Servers:  []openServer{{APIPrefix}},
		Security: []map[string][]string{{"token": {}}},
		Paths:    map[string]map[string]openOperation{},
	}
	for _, r := range h.Routes() {
		if doc.Paths[r.Path] == nil {
			doc.Paths[r.Path] = map[string]openOperation{}
		}
		doc.Paths[r.Path][strings.ToLower(r.Method)] = d.operation(r)
	}
	doc.Components = openComponents{
		Schemas:         d.schemas,
		SecuritySchemes: map[string]openSecurity{"token": {Type: "http", Scheme: "bearer", Description: "A token of ash token new. Its scopes are " + scopeWords(access.Scopes()) + "; admin allows everything."}},
	}
	b, err := json.MarshalIndent(doc, "", "  ")
	if err == nil {
		err = d.err
	}
	return append(b, '\n'), err
}

func scopeWords(list []access.Scope) string {
	words := make([]string, len(list))
	for i, s := range list {
		words[i] = string(s)
	}
	return strings.Join(words, ", ")
}

// describer gathers schemas while it describes operations.
type describer struct {
	schemas map[string]*jsonschema.Schema
	known   map[reflect.Type]*jsonschema.Schema
	err     error
}

func (d *describer) operation(r APIRoute) openOperation {
	op := openOperation{ID: r.name, Summary: r.summary, Description: r.about, Responses: map[string]openResponse{}}
	failing := []int{500}
	if r.Open {
		op.Security = &[]map[string][]string{}
	} else {
		op.Description = strings.TrimSpace(op.Description + " Scope: " + strings.ReplaceAll(scopeWords(r.scopes), ", ", " or ") + ".")
		failing = append(failing, 401, 403, 429, 503)
	}
	for _, p := range r.params {
		op.Parameters = append(op.Parameters, openParameter{Name: p.name, In: p.in, Description: p.about, Required: p.required, Schema: p.kind.schema()})
	}
	if r.body != nil {
		op.Body = &openBody{Required: true, Content: map[string]openMedia{"application/json": {d.ref(r.body, true)}}}
		failing = append(failing, 507)
	}
	for _, a := range r.answers {
		res := openResponse{Description: a.about}
		if a.body != nil {
			schema := d.ref(a.body, false)
			if a.or != nil {
				schema = &jsonschema.Schema{OneOf: []*jsonschema.Schema{schema, d.ref(a.or, false)}}
			}
			res.Content = map[string]openMedia{"application/json": {schema}}
		}
		for _, name := range a.headers {
			if res.Headers == nil {
				res.Headers = map[string]openHeader{}
			}
			res.Headers[name] = openHeader{Description: answerHeaders(name), Schema: kindText.schema()}
		}
		op.Responses[strconv.Itoa(a.status)] = res
	}
	for _, status := range append(failing, r.fails...) {
		op.Responses[strconv.Itoa(status)] = openResponse{
			Description: http.StatusText(status) + ".", Content: map[string]openMedia{"application/problem+json": {d.ref(reflect.TypeFor[APIFailure](), false)}},
		}
	}
	return op
}

func answerHeaders(name string) string {
	if name == "ETag" {
		return "The memory's version, for If-Match."
	}
	return "Where the memory is."
}

// ref points to the schema of a wire type, which is among the components under its name.
func (d *describer) ref(t reflect.Type, strict bool) *jsonschema.Schema {
	name := strings.TrimPrefix(t.Name(), "API")
	if d.schemas[name] == nil {
		s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: d.known})
		if err != nil {
			d.err = fmt.Errorf("describe %s: %w", t, err)
			s = &jsonschema.Schema{}
		}
		settle(s, strict)
		d.schemas[name] = s
	}
	return &jsonschema.Schema{Ref: "#/components/schemas/" + name}
}

// settle makes of what package jsonschema says about Go types what holds on the wire: nothing is null but times that
// may be, and answers may grow.
func settle(s *jsonschema.Schema, strict bool) {
	if s == nil {
		return
	}
	if s.Format != "date-time" && len(s.Types) == 2 {
		s.Type = s.Types[1-slices.Index(s.Types, "null")]
		s.Types = nil
	}
	if !strict {
		s.AdditionalProperties = nil
	}
	for _, p := range s.Properties {
		settle(p, strict)
	}
	settle(s.Items, strict)
}
