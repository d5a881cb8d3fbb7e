package sse

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// serve runs write against a real server and returns the bytes a client received.
func serve(t *testing.T, write func(*Writer) error) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s, err := NewWriter(w)
		if err == nil {
			err = write(s)
		}
		if err != nil {
			t.Errorf("write: %v", err)
		}
	}))
	defer srv.Close()
	res, err := http.Get(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if got := res.Header.Get("Content-Type"); got != "text/event-stream; charset=utf-8" {
		t.Errorf("content type %q", got)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestFrames(t *testing.T) {
	tests := []struct {
		name            string
		id, event, data string
		want            string
	}{
		{"plain", "b-1", "", "hello", "id: b-1\ndata: hello\n\n"},
		{"named", "", "ash:bye", "x", "event: ash:bye\ndata: x\n\n"},
		{"lines", "", "", "a\nb\r\nc\rd", "data: a\ndata: b\ndata: c\ndata: d\n\n"},
		{"ends with a line break", "", "", "a\n", "data: a\ndata: \n\n"},
		{"empty", "", "", "", "data: \n\n"},
		{"a line break cannot leave its field", "1\ndata: evil", "e\r\nid: 9", "x", "id: 1data: evil\nevent: eid: 9\ndata: x\n\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := serve(t, func(s *Writer) error { return s.Send(tt.id, tt.event, []byte(tt.data)) })
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestMarkAndBeat(t *testing.T) {
	got := serve(t, func(s *Writer) error {
		if err := s.Mark("b-2"); err != nil {
			return err
		}
		return s.Beat()
	})
	if want := "id: b-2\n\n:\n\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// parse is a reader as the specification describes it, for the fuzz test.
func parse(stream string) (id, event, data string) {
	var lines []string
	sc := bufio.NewScanner(strings.NewReader(stream))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		field, value, _ := strings.Cut(sc.Text(), ": ")
		switch field {
		case "id":
			id = value
		case "event":
			event = value
		case "data":
			lines = append(lines, value)
		}
	}
	return id, event, strings.Join(lines, "\n")
}

func FuzzSend(f *testing.F) {
	f.Add("b-1", "", "a\nb")
	f.Add("", "ash:done", "\r\n\r")
	f.Fuzz(func(t *testing.T, id, event, data string) {
		rec := httptest.NewRecorder()
		s := &Writer{w: rec, rc: http.NewResponseController(deadline{rec})}
		if err := s.Send(id, event, []byte(data)); err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(rec.Body.Bytes(), []byte("\n\n")); n != 1 {
			t.Fatalf("%d frames in %q", n, rec.Body)
		}
		_, _, got := parse(rec.Body.String())
		want := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(data)
		if got != want {
			t.Fatalf("data %q came back as %q", want, got)
		}
	})
}

// deadline gives a recorder the deadline a real connection has.
type deadline struct{ *httptest.ResponseRecorder }

func (deadline) SetWriteDeadline(time.Time) error { return nil }

// A field's value costs nothing to check: it is done for every frame of every page.
func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{"boot-12": "boot-12", "": "", "a\nb\r\nc\r": "abc"} {
		if got := oneLine(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	if n := testing.AllocsPerRun(100, func() { _ = oneLine("boot-12") }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
