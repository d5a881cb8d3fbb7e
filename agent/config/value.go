package config

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"ash/agent"
)

// A value travels as texts, one for a scalar and any number for a list: that is
// what the environment, flags and forms give, and what a value in the file is
// turned into once its TOML type is known to be right. assign is the only place
// that makes typed values of them.

const (
	maxValue = 2048 // bytes of one text
	maxList  = 100  // texts of one list
)

// split makes texts of a value in text form.
func (f *field) split(text string) []string {
	if f.Type != TypeList {
		return []string{strings.TrimSpace(text)}
	}
	items := []string{}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			items = append(items, part)
		}
	}
	return items
}

// join is the reverse of split.
func join(items []string) string { return strings.Join(items, ", ") }

// fromTOML makes texts of a decoded TOML value, or says that its type is wrong.
func (f *field) fromTOML(v any) ([]string, error) {
	switch v := v.(type) {
	case string:
		if f.Type == TypeText || f.Type == TypeDuration {
			return []string{v}, nil
		}
	case int64:
		if f.Type == TypeInteger || f.Type == TypeNumber || f.Type == TypeDollars {
			return []string{strconv.FormatInt(v, 10)}, nil
		}
	case float64:
		if f.Type == TypeNumber || f.Type == TypeDollars {
			return []string{strconv.FormatFloat(v, 'f', -1, 64)}, nil
		}
	case bool:
		if f.Type == TypeBoolean {
			return []string{strconv.FormatBool(v)}, nil
		}
	case []any:
		if f.Type == TypeList {
			return textsOf(v)
		}
	}
	return nil, fmt.Errorf("it is %s", tomlTypeName(v))
}

func textsOf(list []any) ([]string, error) {
	items := make([]string, 0, len(list))
	for i, v := range list {
		s, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("item %d is %s", i+1, tomlTypeName(v))
		}
		items = append(items, s)
	}
	return items, nil
}

func tomlTypeName(v any) string {
	switch v.(type) {
	case string:
		return "a text in quotes"
	case int64:
		return "a whole number"
	case float64:
		return "a number with a decimal point"
	case bool:
		return "true or false"
	case []any:
		return "a list"
	case map[string]any, []map[string]any:
		return "a section"
	}
	return "a date or time"
}

// literal returns items, which assign has accepted, as a TOML value.
func (f *field) literal(items []string) string {
	switch f.Type {
	case TypeList:
		quoted := make([]string, len(items))
		for i, item := range items {
			quoted[i] = quote(item)
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	case TypeInteger:
		if n, err := strconv.ParseInt(items[0], 10, 64); err == nil {
			return strconv.FormatInt(n, 10)
		}
	case TypeBoolean:
		return items[0]
	case TypeNumber:
		if n, err := strconv.ParseFloat(items[0], 64); err == nil {
			return strconv.FormatFloat(n, 'f', -1, 64)
		}
	case TypeDollars:
		if n, err := ParseDollars(items[0]); err == nil {
			return formatDollars(n)
		}
	}
	return quote(items[0])
}

// quote returns s as a basic TOML string.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case unicode.IsControl(r):
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// assign puts items into dst, the field's place in its struct. The error says
// what is wrong, not what is allowed; it never repeats a value that may be secret.
func (f *field) assign(dst reflect.Value, items []string, home string) error {
	if len(items) > maxList {
		return fmt.Errorf("a list of %d is too long", len(items))
	}
	for _, item := range items {
		if err := f.check(item); err != nil {
			return err
		}
	}
	if dst.Kind() == reflect.Pointer {
		value := reflect.New(dst.Type().Elem())
		if err := f.store(value.Interface(), items, home); err != nil {
			return err
		}
		dst.Set(value)
		return nil
	}
	return f.store(dst.Addr().Interface(), items, home)
}

// check holds for every text, whatever its type.
func (f *field) check(item string) error {
	switch {
	case len(item) > maxValue:
		return fmt.Errorf("a text of %d bytes is too long", len(item))
	case !utf8.ValidString(item):
		return errors.New("the text is not valid UTF-8")
	case strings.IndexFunc(item, unicode.IsControl) >= 0:
		return errors.New("the text holds control characters")
	case len(f.Choices) > 0 && !slices.Contains(f.Choices, item):
		return fmt.Errorf("%s is none of them%s", shown(item), didYouMean(nearest(item, f.Choices)))
	}
	return checkForm(f.form, item)
}

func (f *field) store(dst any, items []string, home string) error {
	var err error
	switch p := dst.(type) {
	case *[]string:
		*p = slices.Clone(items)
		return f.distinct(items)
	case *[]agent.ModelRef:
		*p, err = parseRefs(items)
		return errors.Join(err, f.distinct(items))
	case *agent.ModelRef:
		*p, err = parseRef(items[0])
	case *string:
		*p = items[0]
		if f.form == formPath {
			*p, err = resolvePath(items[0], home)
		}
	case *bool:
		*p, err = strconv.ParseBool(items[0])
		if items[0] != "true" && items[0] != "false" {
			err = fmt.Errorf("%s is neither true nor false", shown(items[0]))
		}
	case *int:
		*p, err = strconv.Atoi(items[0])
		err = f.within(float64(*p), orNot(err, items[0], "a whole number"))
	case *float64:
		*p, err = strconv.ParseFloat(items[0], 64)
		err = f.within(*p, orNot(err, items[0], "a number"))
	case *agent.MicroDollars:
		*p, err = ParseDollars(items[0])
		err = f.within(float64(*p)/1e6, err)
	case *time.Duration:
		*p, err = time.ParseDuration(items[0])
		err = f.withinTime(*p, orNot(err, items[0], "a duration"))
	}
	return err
}

func orNot(err error, item, what string) error {
	if err != nil {
		return fmt.Errorf("%s is not %s", shown(item), what)
	}
	return nil
}

func (f *field) distinct(items []string) error {
	for i, item := range items {
		if slices.Contains(items[:i], item) {
			return fmt.Errorf("%s stands in the list twice", shown(item))
		}
	}
	return nil
}

// within checks the bounds of a number, unless err says that there is none.
func (f *field) within(n float64, err error) error {
	if err != nil {
		return err
	}
	low, high := bound(f.min, math.Inf(-1)), bound(f.max, math.Inf(1))
	// The comparison is written so that NaN fails it.
	if !(n >= low && n <= high) {
		return fmt.Errorf("%s is outside these bounds", strconv.FormatFloat(n, 'f', -1, 64))
	}
	return nil
}

func bound(s string, none float64) float64 {
	if n, err := strconv.ParseFloat(s, 64); err == nil {
		return n
	}
	return none
}

func (f *field) withinTime(d time.Duration, err error) error {
	if err != nil {
		return err
	}
	low, lowErr := time.ParseDuration(f.min)
	high, highErr := time.ParseDuration(f.max)
	if lowErr == nil && d < low || highErr == nil && d > high {
		return fmt.Errorf("%s is outside these bounds", d)
	}
	return nil
}

// ParseDollars reads an amount such as 0.25 or $3 to the micro-dollar.
func ParseDollars(s string) (agent.MicroDollars, error) {
	n, err := strconv.ParseFloat(strings.TrimPrefix(s, "$"), 64)
	if err != nil || math.IsNaN(n) || math.Abs(n) > 1e12 {
		return 0, fmt.Errorf("%s is not an amount in dollars", shown(s))
	}
	m := agent.MicroDollars(math.Round(n * 1e6))
	if m == 0 && n != 0 { // 0 is no cap at all, which nobody means by so little
		return 0, fmt.Errorf("%s is less than a millionth of a dollar", shown(s))
	}
	return m, nil
}

// formatDollars writes an amount with two decimals, and more only where needed.
func formatDollars(m agent.MicroDollars) string {
	s := strconv.FormatFloat(float64(m)/1e6, 'f', 6, 64)
	for range 4 {
		s = strings.TrimSuffix(s, "0")
	}
	return s
}

func parseRefs(items []string) ([]agent.ModelRef, error) {
	refs := make([]agent.ModelRef, 0, len(items))
	for _, item := range items {
		ref, err := parseRef(item)
		if err != nil {
			return nil, err
		}
		refs = append(refs, ref)
	}
	return refs, nil
}

// parseRef reads "provider/name"; the name may hold slashes.
func parseRef(s string) (agent.ModelRef, error) {
	provider, name, ok := strings.Cut(s, "/")
	// The offline model needs no second half: there is only one.
	if s == offline {
		provider, name, ok = offline, offline, true
	}
	if !ok || name == "" || len(s) > maxRef || strings.TrimSpace(name) != name {
		return agent.ModelRef{}, fmt.Errorf("%s does not name a model", shown(s))
	}
	if err := checkProviderName(provider); err != nil {
		return agent.ModelRef{}, fmt.Errorf("%s does not name a model: %w", shown(s), err)
	}
	return agent.ModelRef{Provider: provider, Name: name}, nil
}

const (
	offline = "offline"
	maxRef  = 200 // bytes
)

// resolvePath makes a path absolute: ~ is the person's home folder, and a
// relative path stands in the home of Ash.
func resolvePath(path, home string) (string, error) {
	rest, tilde := strings.CutPrefix(path, "~")
	if tilde && (rest == "" || rest[0] == '/' || rest[0] == filepath.Separator) {
		dir, err := userHome()
		if err != nil {
			return "", err
		}
		return filepath.Join(dir, rest), nil
	}
	if filepath.IsAbs(path) || home == "" {
		return filepath.Clean(path), nil
	}
	return filepath.Join(home, path), nil
}
