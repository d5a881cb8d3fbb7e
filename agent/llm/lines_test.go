package llm

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// read writes the events of a stream down, with how it ended.
func read(r io.Reader, limit int) string {
	var b strings.Builder
	e := NewEventReader(r, limit)
	for {
		name, data, err := e.Next()
		if err != nil {
			fmt.Fprintf(&b, "%v", err)
			return b.String()
		}
		fmt.Fprintf(&b, "%s=%s", name, data)
		if e.Partial() {
			b.WriteString("(partial)")
		}
		b.WriteString("|")
	}
}

func TestEventReader(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"one":                  {"data: a\n\n", "=a|EOF"},
		"no space":             {"data:a\n\ndata:  b\n\n", "=a|= b|EOF"},
		"named":                {"event: ping\ndata: {}\n\ndata: x\n\n", "ping={}|=x|EOF"},
		"name without data":    {"event: ping\n\ndata: x\n\n", "=x|EOF"},
		"several data lines":   {"data: a\ndata: b\n\n", "=a\nb|EOF"},
		"empty data":           {"data\n\ndata:\n\n", "=|=|EOF"},
		"comments and fields":  {": hello\nid: 7\nretry: 3\ndata: a\nfoo\n\n", "=a|EOF"},
		"CRLF":                 {"event: e\r\ndata: a\r\n\r\n", "e=a|EOF"},
		"last blank line left": {"data: a\n", "=a|EOF"},
		"cut inside a line":    {"data: a\n\ndata: {\"b", "=a|={\"b(partial)|EOF"},
		"nothing":              {"", "EOF"},
		"only comments":        {": a\n\n: b\n\n", "EOF"},
		"at the bound":         {"data: " + strings.Repeat("x", 100) + "\n\n", "=" + strings.Repeat("x", 100) + "|EOF"},
		"one over the bound":   {"data: " + strings.Repeat("x", 101) + "\n\n", ErrTooLong.Error()},
		"joined over it":       {"data: " + strings.Repeat("x", 60) + "\ndata: " + strings.Repeat("y", 60) + "\n\n", ErrTooLong.Error()},
		"endless line":         {"data: " + strings.Repeat("x", 100_000), ErrTooLong.Error()},
		"endless other field":  {"foo: " + strings.Repeat("x", 100_000) + "\n", ErrTooLong.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			if got := read(strings.NewReader(tc.in), 100); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if got := read(iotest.OneByteReader(strings.NewReader(tc.in)), 100); got != tc.want {
				t.Errorf("byte by byte: got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestLineReaderKeepsErrors(t *testing.T) {
	broken := errors.New("broken")
	l := NewLineReader(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)), 0)
	if line, err := l.Next(); string(line) != "a" || err != nil {
		t.Fatalf("got %q, %v", line, err)
	}
	for range 2 {
		if line, err := l.Next(); line != nil || !errors.Is(err, broken) {
			t.Errorf("got %q, %v", line, err)
		}
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func TestLineReaderGivesUpOnStuckReader(t *testing.T) {
	if _, err := NewLineReader(stuck{}, 0).Next(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("got %v", err)
	}
}

// FuzzEventReader: whatever the bytes and however they arrive, the events are the same, and within the bound.
func FuzzEventReader(f *testing.F) {
	for _, seed := range []string{"data: a\n\n", "event: x\r\ndata: 1\r\ndata: 2\r\n\r\n", "data: " + strings.Repeat("x", 70), "\n\n:\n", "data"} {
		f.Add([]byte(seed), uint16(64))
	}
	f.Fuzz(func(t *testing.T, data []byte, limit uint16) {
		whole := read(strings.NewReader(string(data)), int(limit)+1)
		if got := read(iotest.OneByteReader(strings.NewReader(string(data))), int(limit)+1); got != whole {
			t.Errorf("byte by byte %q, whole %q", got, whole)
		}
		if got := read(iotest.DataErrReader(strings.NewReader(string(data))), int(limit)+1); got != whole {
			t.Errorf("error with data %q, whole %q", got, whole)
		}
		e := NewEventReader(strings.NewReader(string(data)), int(limit)+1)
		for {
			_, d, err := e.Next()
			if err != nil {
				return
			}
			if len(d) > int(limit)+1 {
				t.Errorf("%d bytes over a bound of %d", len(d), limit+1)
			}
		}
	})
}
