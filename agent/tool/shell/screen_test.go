package shell

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func screened(pieces ...string) string {
	var s screen
	for _, p := range pieces {
		s.write([]byte(p))
	}
	return s.text()
}

func TestScreen(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"plain":                         {"one\ntwo", "one\ntwo"},
		"tabs stay":                     {"a\tb\n", "a\tb\n"},
		"colours":                       {"\x1b[1;31mred\x1b[0m and \x1b[38;5;200mpink\x1b[m\n", "red and pink\n"},
		"a title":                       {"\x1b]0;evil title\x07here\x1b]2;x\x1b\\!", "here!"},
		"a link":                        {"\x1b]8;;http://e.example\x1b\\text\x1b]8;;\x1b\\", "text"},
		"a charset":                     {"\x1b(Bok", "ok"},
		"C1 controls":                   {"\u009b31mred\u009d0;t\u009c.", "red."},
		"Windows lines":                 {"one\r\ntwo\r\n", "one\ntwo\n"},
		"a progress bar":                {"10%\r50%\r100%\ndone\n", "100%\ndone\n"},
		"a shorter line over a longer":  {"downloading\rok\n", "ok\n"},
		"backspaces":                    {"abc\b\bX é\b!", "aX !"},
		"bells and NULs":                {"a\x07b\x00c\x7f", "abc"},
		"broken UTF-8":                  {"caf\xe9 \xff", "caf\uFFFD \uFFFD"},
		"a broken end":                  {"caf\xc3", "caf\uFFFD"},
		"a sequence that never ends":    {"\x1b[12\nhere", "\nhere"},
		"a text that never ends":        {"\x1b]0;title\nhere", "\nhere"},
		"an escape at the end":          {"x\x1b", "x"},
		"nothing but a return":          {"\r\r", ""},
		"a return before what stays so": {"same\r", "same"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := screened(tt.in); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
			if got := screened(strings.Split(tt.in, "")...); got != tt.want {
				t.Errorf("in single bytes or characters: %q, want %q", got, tt.want)
			}
			var s screen
			for _, b := range []byte(tt.in) {
				s.write([]byte{b})
			}
			if got := s.text(); got != tt.want {
				t.Errorf("byte by byte: %q, want %q", got, tt.want)
			}
		})
	}
}

func TestEndlessLine(t *testing.T) {
	var s screen
	for range 64 {
		s.write([]byte(strings.Repeat("a", 1<<16)))
	}
	if n := len(s.text()); n != 4<<20 {
		t.Errorf("%d bytes", n)
	}
}

// Wherever the pieces end, the text is the same, valid, and without control characters.
func FuzzScreen(f *testing.F) {
	for _, seed := range []string{"", "a\r\nb", "\x1b[31mx\x1b[0m", "é\b\xff\x1b]0;t\x07", "10%\r20%\n", "\x1bP\x1b\\\u009b5n"} {
		f.Add([]byte(seed), uint8(3))
	}
	f.Fuzz(func(t *testing.T, in []byte, cut uint8) {
		whole := screened(string(in))
		n := min(int(cut), len(in))
		if got := screened(string(in[:n]), string(in[n:])); got != whole {
			t.Fatalf("cut at %d: %q, else %q", n, got, whole)
		}
		if !utf8.ValidString(whole) || strings.ContainsFunc(whole, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 }) {
			t.Fatalf("%q", whole)
		}
		if len(whole) > 3*len(in) {
			t.Fatalf("%d bytes of %d", len(whole), len(in))
		}
	})
}

func BenchmarkScreen(b *testing.B) {
	in := []byte(strings.Repeat("\x1b[32mok\x1b[0m  ash/agent/tool/shell\t0.123s and some more words of a usual line\n", 1000))
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		var s screen
		s.write(in)
		if s.text() == "" {
			b.Fatal("nothing")
		}
	}
}
