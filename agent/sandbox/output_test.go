package sandbox

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// take gives stream to a fresh output in pieces of size.
func take(t testing.TB, stream string, size int, keep int64) (o *output, handed string, r Result, dir string) {
	var b strings.Builder
	o = newOutput(keep, func(p []byte) { b.Write(p) }, func() (*os.File, error) { return os.CreateTemp(t.TempDir(), "") })
	o.word = "WORD"
	for data := []byte(stream); len(data) > 0; {
		n := min(size, len(data))
		if _, err := o.Write(data[:n]); err != nil {
			t.Fatal(err)
		}
		data = data[n:]
	}
	dir, err := o.finish(&r)
	if err != nil {
		t.Fatal(err)
	}
	return o, b.String(), r, dir
}

func TestMarksAreSeparated(t *testing.T) {
	long := strings.Repeat("x", maxMark+10)
	for name, test := range map[string]struct {
		stream, text, dir string
		exit              int
		began, ended      bool
	}{
		"a whole command":     {"\x00WORD B\x00hello\n\x00WORD D/work/a b\x00\x00WORD E3\x00", "hello\n", "/work/a b", 3, true, true},
		"text afterwards":     {"\x00WORD B\x00a\x00WORD E0\x00b", "ab", "", 0, true, true},
		"the first end holds": {"\x00WORD E4\x00\x00WORD E5\x00", "", "", 4, false, true},
		"no marks":            {"a\x00b\x00WORLD c", "a\x00b\x00WORLD c", "", 0, false, false},
		"cut mark":            {"a\x00WORD D/work", "a\x00WORD D/work", "", 0, false, false},
		"beginning of a mark": {"a\x00WOR", "a\x00WOR", "", 0, false, false},
		"zeros":               {"\x00\x00\x00WORD B\x00\x00", "\x00\x00\x00", "", 0, true, false},
		"too long":            {"\x00WORD D" + long + "\x00after", "\x00WORD D" + long + "\x00after", "", 0, false, false},
		"empty mark":          {"\x00WORD \x00a", "a", "", 0, false, false},
		"exit without number": {"\x00WORD Ex\x00", "", "", 0, false, false},
	} {
		for _, size := range []int{1, 2, 3, 7, 1 << 20} {
			o, text, r, dir := take(t, test.stream, size, 1<<20)
			if text != test.text || dir != test.dir || o.code() != test.exit || isClosed(o.began) != test.began || isClosed(o.ended) != test.ended || r.Truncated {
				t.Errorf("%s by %d: text %q, dir %q, exit %d, %+v", name, size, text, dir, o.code(), r)
			}
		}
	}
}

func TestOutputBeyondWhatIsHandedOn(t *testing.T) {
	stream := strings.Repeat("0123456789", 100)
	for _, size := range []int{1, 9, 64, 2000} {
		_, text, r, _ := take(t, stream, size, 64)
		whole, err := os.ReadFile(r.Overflow)
		if err != nil || string(whole) != stream || text != stream[:64] || !r.Truncated || r.Endless {
			t.Errorf("by %d: %d handed on, %d kept, %+v, %v", size, len(text), len(whole), r, err)
		}
	}
	if _, text, r, _ := take(t, stream, 100, 1000); text != stream || r.Truncated || r.Overflow != "" {
		t.Errorf("exactly: %+v", r)
	}
}

// TestMoreThanMemoryKeeps is about output that is handed on as a whole, but passes through a file.
func TestMoreThanMemoryKeeps(t *testing.T) {
	stream := strings.Repeat("0123456789abcdef", maxKept/8)
	o, text, r, _ := take(t, stream, 5000, 1<<22)
	if text != stream || r.Truncated || r.Overflow != "" || o.file == nil {
		t.Errorf("%d handed on, %+v", len(text), r)
	}
	if _, err := os.Stat(o.file.Name()); err == nil {
		t.Error("the file is still there")
	}
}

func TestNoRoomForTheWholeOutput(t *testing.T) {
	o := newOutput(4, nil, func() (*os.File, error) { return os.Create(filepath.Join(t.TempDir(), "none", "file")) })
	o.Write([]byte("more than four"))
	var r Result
	if _, err := o.finish(&r); err == nil || r.Overflow != "" || !r.Truncated {
		t.Errorf("%+v %v", r, err)
	}
}

func FuzzOutput(f *testing.F) {
	f.Add([]byte("\x00WORD B\x00hi\x00WORD D/work\x00\x00WORD E1\x00"), 3)
	f.Add([]byte("\x00WORD \x00WORD B\x00"), 1)
	f.Fuzz(func(t *testing.T, stream []byte, size int) {
		size = max(1, size%64)
		_, whole, _, _ := take(t, string(stream), 1<<20, 1<<20)
		o, text, _, _ := take(t, string(stream), size, 1<<20)
		if text != whole {
			t.Errorf("by %d: %q, at once: %q", size, text, whole)
		}
		if len(o.held) > maxMark+8 {
			t.Errorf("%d bytes held", len(o.held))
		}
		if !bytes.Contains(stream, []byte("\x00WORD ")) && text != string(stream) {
			t.Errorf("text without marks changed: %q", text)
		}
	})
}
