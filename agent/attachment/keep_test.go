package attachment

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"ash/agent"
)

func TestKeep(t *testing.T) {
	s := open(t, Options{})
	for name, text := range map[string]string{
		"plain":          "one\ntwo\n",
		"controls only":  strings.Repeat("\x1b[1m\x01\x02\x03", 4000),
		"one long line":  strings.Repeat("x", MaxExtract+5),
		"looks binary":   "\x7fELF" + strings.Repeat("\x02", 100),
		"looks like ZIP": "PK\x03\x04 but is text",
	} {
		t.Run(name, func(t *testing.T) {
			a, err := s.Keep(t.Context(), "../shell\n-output.txt", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if a.Name != "shell-output.txt" || a.Size != int64(len(text)) || !strings.HasPrefix(a.Media, "text/") {
				t.Errorf("kept as %+v", a)
			}
			data, err := s.Load(a.Hash)
			if err != nil || string(data) != text {
				t.Errorf("read back %d bytes, want %d (%v)", len(data), len(text), err)
			}
			o, err := s.Get(t.Context(), a.Hash)
			if err != nil {
				t.Fatal(err)
			}
			defer o.Close()
			if o.Media != a.Media || o.Size != a.Size {
				t.Errorf("served as %s, %d bytes", o.Media, o.Size)
			}
			again, err := s.Keep(t.Context(), "other.txt", []byte(text))
			if err != nil || again.Hash != a.Hash || again.Size != a.Size {
				t.Errorf("the same text again is %+v (%v)", again, err)
			}
		})
	}
}

func TestKeepMakesTextStorable(t *testing.T) {
	s := open(t, Options{})
	a, err := s.Keep(t.Context(), "x.txt", []byte("a\x00b\xffc"))
	if err != nil {
		t.Fatal(err)
	}
	if data, err := s.Load(a.Hash); err != nil || string(data) != "a\uFFFDb\uFFFDc" {
		t.Errorf("kept %q (%v)", data, err)
	}
	if _, err := s.Keep(t.Context(), "x.txt", nil); agent.CodeOf(err) != agent.CodeInvalid {
		t.Errorf("nothing: %v", err)
	}
}

func TestKeepBoundsWhatIsKept(t *testing.T) {
	s := open(t, Options{})
	for name, text := range map[string][]byte{
		"long":             bytes.Repeat([]byte("ü0123456789\n"), MaxSize/12),
		"grows when clean": bytes.Repeat([]byte{'a', 0}, MaxSize/2),
	} {
		a, err := s.Keep(t.Context(), "big.txt", text)
		if err != nil {
			t.Fatal(name, err)
		}
		data, err := s.Load(a.Hash)
		if err != nil {
			t.Fatal(name, err)
		}
		if len(data) > MaxSize || !utf8.Valid(data) || !bytes.HasSuffix(data, []byte(leftOut)) || int64(len(data)) != a.Size {
			t.Errorf("%s: %d bytes kept, ends with %q", name, len(data), data[len(data)-60:])
		}
	}
}
