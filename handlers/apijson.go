package handlers

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"ash/agent"
)

// What the API reads is taken strictly: what package json passes over in silence (fields of other names or in other
// case, one given twice, null, broken UTF-8, halves of surrogate pairs, what follows) is refused, so that nothing is
// kept that the caller did not mean.

// maxDepth bounds how deep JSON may be nested. What the API takes is three deep.
const maxDepth = 8

// readJSON reads a request's body into a new T, and returns it as it was sent, too.
//
// Errors: 415 for a body that is not called JSON, 400 for one that is not, *http.MaxBytesError, CodeInvalid for JSON that does
// not fit T.
func readJSON[T any](r *http.Request) (out T, raw []byte, err error) {
	if err := checkMedia(r, true); err != nil {
		return out, nil, err
	}
	if raw, err = io.ReadAll(r.Body); err != nil {
		var big *http.MaxBytesError
		if errors.As(err, &big) {
			return out, nil, big
		}
		return out, nil, agent.Wrap(agent.CodeUnavailable, err, "The connection broke while sending.")
	}
	return out, raw, decodeStrict(raw, &out)
}

// checkMedia refuses every body that is not called JSON: a page of another site can send a few kinds of body
// unasked, and JSON is not among them. Without one there must be no body when body is demanded.
func checkMedia(r *http.Request, body bool) error {
	kind := r.Header.Get("Content-Type")
	if kind == "" && !body && r.ContentLength == 0 {
		return nil
	}
	media, params, err := mime.ParseMediaType(kind)
	charset := params["charset"]
	if err != nil || media != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") || r.Header.Get("Content-Encoding") != "" {
		return &StatusError{Status: http.StatusUnsupportedMediaType, Public: "The API takes JSON only: send it with Content-Type: application/json, in UTF-8, not compressed."}
	}
	return nil
}

// decodeStrict reads JSON into what into points to.
func decodeStrict(raw []byte, into any) error {
	if !utf8.Valid(raw) {
		return errNoJSON(nil, "It is not valid UTF-8.")
	}
	if err := scanJSON(raw); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // whether it fits is for Unmarshal to say
	if err := fits(d, reflect.TypeOf(into).Elem(), ""); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errNoJSON(err, "Something follows after its end.")
	}
	err := json.Unmarshal(raw, into)
	var (
		public *agent.Error
		wrong  *json.UnmarshalTypeError
	)
	switch {
	case errors.As(err, &public):
		return public
	case errors.As(err, &wrong):
		return agent.Errorf(agent.CodeInvalid, "%q cannot be %s.", wrong.Field, article(wrong.Value))
	case err != nil:
		return errNoJSON(err, "")
	}
	return nil
}

func article(what string) string {
	what, _, _ = strings.Cut(what, " ")
	if strings.ContainsAny(what[:1], "aeiou") {
		return "an " + what
	}
	return "a " + what
}

// errNoJSON says that a body is no JSON. The words of package json may repeat what was sent, so they are not told.
func errNoJSON(err error, why string) error {
	public := "The body is not JSON."
	var syntax *json.SyntaxError
	switch {
	case why != "":
		public += " " + why
	case errors.As(err, &syntax):
		public += " It breaks off or goes wrong at byte " + strconv.FormatInt(syntax.Offset, 10) + "."
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		public += " It ends too early."
	}
	return &StatusError{Status: http.StatusBadRequest, Public: public}
}

// scanJSON looks for what package json lets pass within strings, and for too deep nesting.
func scanJSON(raw []byte) error {
	depth, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch b := raw[i]; {
		case b == '"':
			quoted = !quoted
		case quoted && b == '\\':
			n, err := escape(raw[i:])
			if err != nil {
				return err
			}
			i += n - 1
		case quoted:
		case b == '{' || b == '[':
			if depth++; depth > maxDepth {
				return errNoJSON(nil, "It is nested deeper than "+strconv.Itoa(maxDepth)+" levels.")
			}
		case b == '}' || b == ']':
			depth--
		}
	}
	return nil
}

// escape returns the length of the escape at the beginning of raw. Broken ones are left to package json.
func escape(raw []byte) (int, error) {
	r, ok := hexRune(raw)
	if !ok {
		return min(2, len(raw)), nil
	}
	if r == 0 {
		return 0, agent.Errorf(agent.CodeInvalid, `The text holds a NUL (\u0000), which nothing can keep. Leave it out.`)
	}
	if !utf16.IsSurrogate(r) {
		return 6, nil
	}
	if low, ok := hexRune(raw[6:]); ok && utf16.DecodeRune(r, low) != utf8.RuneError {
		return 12, nil
	}
	return 0, errNoJSON(nil, "It holds half of a surrogate pair.")
}

// hexRune reads an escape of the form \uXXXX.
func hexRune(raw []byte) (rune, bool) {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
	return rune(n), err == nil
}

// fits reads one value and holds it to a type: the names of fields exactly, none twice, no null but for a time.
func fits(d *json.Decoder, t reflect.Type, at string) error {
	token, err := d.Token()
	if err != nil {
		return errNoJSON(err, "")
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	plain := t == reflect.TypeFor[APIMoment]()
	switch {
	case token == nil:
		if !plain {
			return agent.Errorf(agent.CodeInvalid, "%s cannot be null. Leave it out to leave it as it is.", fieldAt(at))
		}
	case token == json.Delim('{'):
		if plain || t.Kind() != reflect.Struct {
			return agent.Errorf(agent.CodeInvalid, "%s cannot be an object.", fieldAt(at))
		}
		return fitsFields(d, t, at)
	case token == json.Delim('['):
		if t.Kind() != reflect.Slice {
			return agent.Errorf(agent.CodeInvalid, "%s cannot be an array.", fieldAt(at))
		}
		for i := 0; d.More(); i++ {
			if err := fits(d, t.Elem(), at+"["+strconv.Itoa(i)+"]"); err != nil {
				return err
			}
		}
		if _, err := d.Token(); err != nil {
			return errNoJSON(err, "")
		}
	case t.Kind() == reflect.Struct && !plain:
		return agent.Errorf(agent.CodeInvalid, "%s must be an object.", fieldAt(at))
	}
	return nil
}

// fitsFields reads the fields of an object up to its end.
func fitsFields(d *json.Decoder, t reflect.Type, at string) error {
	var names, seen []string
	types := map[string]reflect.Type{}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
		types[name] = f.Type
	}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return errNoJSON(err, "")
		}
		name, _ := token.(string) // keys are nothing else
		field, known := types[name]
		switch {
		case !known:
			return agent.Errorf(agent.CodeInvalid, "There is no field %q here. There are: %s.", agent.Clip(name, 40), strings.Join(names, ", "))
		case slices.Contains(seen, name):
			return agent.Errorf(agent.CodeInvalid, "The field %q is given twice.", name)
		}
		seen = append(seen, name)
		if err := fits(d, field, strings.TrimPrefix(at+"."+name, ".")); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return errNoJSON(err, "")
	}
	return nil
}

func fieldAt(at string) string {
	if at == "" {
		return "The body"
	}
	return strconv.Quote(at)
}

// APIMoment is a time in a request: left out, null for none, or RFC 3339.
type APIMoment struct {
	Set  bool
	Time time.Time
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *APIMoment) UnmarshalJSON(raw []byte) error {
	m.Set, m.Time = true, time.Time{}
	if string(raw) == "null" {
		return nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return errMoment()
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.Year() < 1000 {
		return errMoment()
	}
	m.Time = at.UTC().Truncate(time.Microsecond)
	return nil
}

// MarshalJSON implements json.Marshaler.
func (m APIMoment) MarshalJSON() ([]byte, error) {
	if m.Time.IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(m.Time)
}

// IsZero makes a moment that was left out be left out.
func (m APIMoment) IsZero() bool { return !m.Set }

func errMoment() error {
	return agent.Errorf(agent.CodeInvalid, "A time is written like 2026-05-31T18:00:00Z.")
}
