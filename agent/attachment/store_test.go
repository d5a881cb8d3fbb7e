package attachment

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"ash/agent"
)

func open(tb testing.TB, o Options) *Store {
	tb.Helper()
	s, err := Open(filepath.Join(tb.TempDir(), "files"), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

func put(tb testing.TB, s *Store, name, content string) agent.Attachment {
	tb.Helper()
	part, err := s.Put(tb.Context(), name, strings.NewReader(content))
	if err != nil {
		tb.Fatalf("Put(%q): %v", name, err)
	}
	return attached(part)
}

func attached(p agent.Part) agent.Attachment {
	switch p := p.(type) {
	case agent.Image:
		return p.Attachment
	case agent.File:
		return p.Attachment
	}
	return agent.Attachment{}
}

func utf16Bytes(order binary.AppendByteOrder, s string) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = order.AppendUint16(b, u)
	}
	return string(b)
}

func TestText(t *testing.T) {
	for _, test := range []struct {
		name, file, content string
		media, extract      string
	}{
		{"plain", "a.txt", "hello\n", "text/plain", "hello\n"},
		{"the name does not decide", "a.png", "not a picture", "text/plain", "not a picture"},
		{"Markdown", "README.MD", "# Title", "text/markdown", "# Title"},
		{"CSV", "a.csv", "a;b\n1;2\n", "text/csv", "a;b\n1;2\n"},
		{"JSON", "data", ` {"a": [1]}`, "application/json", ` {"a": [1]}`},
		{"not quite JSON", "data.json", `{"a": }`, "text/plain", `{"a": }`},
		{"HTML is served as text", "a.html", "<script>alert(1)</script>", "text/plain", "<script>alert(1)</script>"},
		{"SVG is served as text", "a.svg", `<svg onload="x()"/>`, "text/plain", `<svg onload="x()"/>`},
		{"byte order mark", "a.txt", "\ufeffhello", "text/plain", "hello"},
		{"UTF-16 little-endian", "a.txt", "\xff\xfe" + utf16Bytes(binary.LittleEndian, "Grüße 🎉"), "text/plain", "Grüße 🎉"},
		{"UTF-16 big-endian", "a.txt", "\xfe\xff" + utf16Bytes(binary.BigEndian, "日本語"), "text/plain", "日本語"},
		{"UTF-16 unmarked", "a.txt", utf16Bytes(binary.LittleEndian, "plain old notepad text"), "text/plain", "plain old notepad text"},
		{"UTF-16 unmarked, big-endian", "a.txt", utf16Bytes(binary.BigEndian, "plain old notepad text"), "text/plain", "plain old notepad text"},
		{"Latin-1", "a.txt", "Gr\xfc\xdfe aus K\xf6ln an alle", "text/plain", "Grüße aus Köln an alle"},
		{"Windows-1252", "a.txt", "it costs 5 \x80, he said: \x84yes\x93", "text/plain", "it costs 5 €, he said: „yes“"},
		{"terminal log", "a.log", "\x1b[31mred\x1b[0m and a bell once in a very long while, so that it is rare enough\x07", "text/plain", "\x1b[31mred\x1b[0m and a bell once in a very long while, so that it is rare enough\x07"},
	} {
		t.Run(test.name, func(t *testing.T) {
			part, err := open(t, Options{}).Put(t.Context(), test.file, strings.NewReader(test.content))
			if err != nil {
				t.Fatal(err)
			}
			f := part.(agent.File)
			if f.Attachment.Media != test.media || f.Extract != test.extract || f.Truncated || f.Attachment.Size != int64(len(test.content)) {
				t.Errorf("got %+v", f)
			}
			if !f.Labels.Untrusted() || f.Labels[0].Source != "file:"+test.file {
				t.Errorf("labels %v", f.Labels)
			}
		})
	}
}

func TestLongTextIsCut(t *testing.T) {
	line := strings.Repeat("ä", 40) + "\n"
	for name, content := range map[string]string{
		"UTF-8":   strings.Repeat(line, 5000),
		"UTF-16":  "\xff\xfe" + utf16Bytes(binary.LittleEndian, strings.Repeat(line, 5000)),
		"Latin-1": strings.Repeat("caf\xe9 ole\n", 60_000),
		"at a piece's edge": strings.Repeat("x", 64<<10-1) + "ä" + strings.Repeat("y", 64<<10-2) + "日" +
			strings.Repeat("z", MaxExtract),
	} {
		part, err := open(t, Options{}).Put(t.Context(), "long.txt", strings.NewReader(content))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		f := part.(agent.File)
		if !f.Truncated || len(f.Extract) > MaxExtract || len(f.Extract) < MaxExtract-4096 || !utf8.ValidString(f.Extract) || strings.ContainsRune(f.Extract, utf8.RuneError) {
			t.Errorf("%s: %d bytes, truncated %t", name, len(f.Extract), f.Truncated)
		}
	}
}

func picture(tb testing.TB, encode func(io.Writer, image.Image) error) string {
	tb.Helper()
	m := image.NewPaletted(image.Rect(0, 0, 3, 2), color.Palette{color.Black, color.White})
	var b bytes.Buffer
	if err := encode(&b, m); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

func webp(form, body string) string {
	size := binary.LittleEndian.AppendUint32(nil, uint32(12+len(body)))
	return "RIFF" + string(size) + "WEBP" + form + string(binary.LittleEndian.AppendUint32(nil, uint32(len(body)))) + body
}

func TestPictures(t *testing.T) {
	for _, test := range []struct {
		name, content, media string
		width, height        int
	}{
		{"PNG", picture(t, png.Encode), "image/png", 3, 2},
		{"JPEG", picture(t, func(w io.Writer, m image.Image) error { return jpeg.Encode(w, m, nil) }), "image/jpeg", 3, 2},
		{"GIF", picture(t, func(w io.Writer, m image.Image) error { return gif.Encode(w, m, nil) }), "image/gif", 3, 2},
		{"WebP", webp("VP8 ", "\x10\x00\x00\x9d\x01\x2a\x20\x03\x58\x02more"), "image/webp", 800, 600},
		{"WebP lossless", webp("VP8L", "\x2f\x1f\xc3\x95\x00more"), "image/webp", 800, 600},
		{"WebP extended", webp("VP8X", "\x10\x00\x00\x00\x1f\x03\x00\x57\x02\x00"), "image/webp", 800, 600},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := open(t, Options{})
			part, err := s.Put(t.Context(), "claimed.pdf", strings.NewReader(test.content))
			if err != nil {
				t.Fatal(err)
			}
			i := part.(agent.Image)
			if i.Attachment.Media != test.media || i.Data != nil || !i.Labels.Untrusted() {
				t.Errorf("got %+v", i)
			}
			o, err := s.Get(t.Context(), i.Attachment.Hash)
			if err != nil {
				t.Fatal(err)
			}
			defer o.Close()
			if o.Width != test.width || o.Height != test.height {
				t.Errorf("%d × %d", o.Width, o.Height)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	bomb := []byte(picture(t, png.Encode))
	binary.BigEndian.PutUint32(bomb[16:], 60_000) // width; the header's checksum stands at 29
	binary.BigEndian.PutUint32(bomb[29:], crc(bomb[12:29]))
	for _, test := range []struct {
		name, content, want string
	}{
		{"empty", "", "empty"},
		{"too large", strings.Repeat("a", MaxSize+1), "at most 25 MB"},
		{"binary", "\x01\x02\x03\x04\x05\xff\xfe\x00\x10", "not text"},
		{"text with NUL", "some text\x00and more", "not text"},
		{"bytes that mean nothing", "caf\x81 \x8d\x8f", "not text"},
		{"UTF-32", "\xff\xfe\x00\x00a\x00\x00\x00", "not text"},
		{"archive", "PK\x03\x04rest", "export it as PDF"},
		{"HEIC", "\x00\x00\x00\x18ftypheicrest", "save it as JPEG"},
		{"video", "\x00\x00\x00\x18ftypisomrest", "video"},
		{"program", "\x7fELF\x02", "program"},
		{"picture bomb", string(bomb), "60000 × 2"},
		{"damaged PNG", "\x89PNG\r\n\x1a\nrest", "damaged"},
		{"damaged WebP", webp("VP8L", "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"), "damaged"},
		{"unknown WebP", webp("VP9 ", "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"), "damaged"},
		{"WebP without a key frame", webp("VP8 ", "\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00"), "damaged"},
		{"short WebP", "RIFF\x00\x00\x00\x00WEBPVP8 ", "damaged"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := open(t, Options{})
			_, err := s.Put(t.Context(), "a.txt", strings.NewReader(test.content))
			if agent.CodeOf(err) != agent.CodeInvalid || !strings.Contains(agent.PublicOf(err), test.want) {
				t.Errorf("error %v", err)
			}
			left, err := filepath.Glob(filepath.Join(s.root.Name(), "*"))
			hidden, err2 := filepath.Glob(filepath.Join(s.root.Name(), ".*"))
			if err != nil || err2 != nil || len(left)+len(hidden) > 0 {
				t.Errorf("left behind: %v %v", left, hidden)
			}
		})
	}
}

func crc(b []byte) uint32 {
	sum := ^uint32(0)
	for _, c := range b {
		sum ^= uint32(c)
		for range 8 {
			sum = sum>>1 ^ 0xedb88320&-(sum&1)
		}
	}
	return ^sum
}

func TestStoredOnceAndAsPromised(t *testing.T) {
	s := open(t, Options{})
	a, b := put(t, s, "one.txt", "the same"), put(t, s, "two.txt", "the same")
	sum := sha256.Sum256([]byte("the same"))
	if a.Hash != hex.EncodeToString(sum[:]) || a.Hash != b.Hash || a.Name != "one.txt" || b.Name != "two.txt" {
		t.Errorf("%+v, %+v", a, b)
	}
	files, err := filepath.Glob(filepath.Join(s.root.Name(), "*", "*"))
	if err != nil || len(files) != 2 {
		t.Errorf("files %v, %v", files, err)
	}
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", f, info.Mode(), err)
		}
	}
	if data, err := s.Load(a.Hash); err != nil || string(data) != "the same" {
		t.Errorf("Load: %q, %v", data, err)
	}
	part, err := s.Part(t.Context(), a.Hash, "../three.md")
	if f, ok := part.(agent.File); err != nil || !ok || f.Attachment.Name != "three.md" || f.Extract != "the same" {
		t.Errorf("Part: %+v, %v", part, err)
	}
	o, err := s.Get(t.Context(), a.Hash)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if data, err := io.ReadAll(o); err != nil || string(data) != "the same" || o.Size != 8 || o.Media != "text/plain" {
		t.Errorf("Get: %+v, %q, %v", o, data, err)
	}
}

func TestForeignHashes(t *testing.T) {
	s := open(t, Options{})
	put(t, s, "a.txt", "x")
	for _, hash := range []string{"", "..", "../../etc/passwd", strings.Repeat("a", 64), strings.Repeat("A", 64), strings.Repeat("é", 32), strings.Repeat("a", 63) + "/"} {
		_, err1 := s.Get(t.Context(), hash)
		_, err2 := s.Part(t.Context(), hash, "a")
		_, err3 := s.Load(hash)
		for _, err := range []error{err1, err2, err3} {
			if agent.CodeOf(err) != agent.CodeNotFound {
				t.Errorf("%q: %v", hash, err)
			}
		}
	}
}

func TestDamage(t *testing.T) {
	s := open(t, Options{})
	a := put(t, s, "a.txt", "some text")
	path := filepath.Join(s.root.Name(), a.Hash[:2], a.Hash)
	t.Run("notes are made anew", func(t *testing.T) {
		for _, broken := range []string{"{", "", `{"media":"text/plain","size":1}`} {
			if err := os.WriteFile(path+notesSuffix, []byte(broken), 0o600); err != nil {
				t.Fatal(err)
			}
			part, err := s.Part(t.Context(), a.Hash, "a.txt")
			if err != nil || part.(agent.File).Extract != "some text" {
				t.Errorf("%q: %+v, %v", broken, part, err)
			}
		}
		if err := os.Remove(path + notesSuffix); err != nil {
			t.Fatal(err)
		}
		if again := put(t, s, "b.txt", "some text"); again.Hash != a.Hash {
			t.Errorf("%+v", again)
		}
		if o, err := s.Get(t.Context(), a.Hash); err != nil || o.Close() != nil {
			t.Error(err)
		}
	})
	t.Run("changed bytes are not used", func(t *testing.T) {
		if err := os.WriteFile(path, []byte("evil text"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Load(a.Hash); agent.CodeOf(err) != agent.CodeUnavailable {
			t.Errorf("Load: %v", err)
		}
	})
	t.Run("links are not followed", func(t *testing.T) {
		if err := errors.Join(os.Remove(path), os.Symlink("/etc/hostname", path)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Get(t.Context(), a.Hash); agent.CodeOf(err) != agent.CodeNotFound {
			t.Errorf("Get: %v", err)
		}
		if _, err := s.Part(t.Context(), a.Hash, "a"); agent.CodeOf(err) != agent.CodeNotFound {
			t.Errorf("Part: %v", err)
		}
	})
}

func TestUploadThatBreaksOff(t *testing.T) {
	s := open(t, Options{})
	_, err := s.Put(t.Context(), "a.txt", io.MultiReader(strings.NewReader("half"), iotest.ErrReader(io.ErrUnexpectedEOF)))
	if agent.CodeOf(err) != agent.CodeInvalid {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Put(ctx, "a.txt", strings.NewReader("all")); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestOpenSweepsUnfinishedUploads(t *testing.T) {
	dir := t.TempDir()
	left := filepath.Join(dir, tempPrefix+"x")
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Error("still there")
	}
	if _, err := Open(filepath.Join(dir, tempPrefix), Options{}); err != nil {
		t.Error(err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file, Options{}); agent.CodeOf(err) != agent.CodeUnavailable {
		t.Errorf("a file for a folder: %v", err)
	}
}

func TestPurge(t *testing.T) {
	s := open(t, Options{})
	kept, old, named, young := put(t, s, "a", "kept"), put(t, s, "b", "old"), put(t, s, "c", "named again"), put(t, s, "d", "young")
	past := time.Now().Add(-time.Hour)
	for _, a := range []agent.Attachment{kept, old, named} {
		path := filepath.Join(s.root.Name(), place(a.Hash))
		if err := errors.Join(os.Chtimes(path, past, past), os.Chtimes(path+notesSuffix, past, past)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Part(t.Context(), named.Hash, "c"); err != nil {
		t.Fatal(err)
	}
	orphan := filepath.Join(s.root.Name(), old.Hash[:2], old.Hash[:2]+strings.Repeat("0", 62)+notesSuffix)
	if err := errors.Join(os.WriteFile(orphan, nil, 0o600), os.Chtimes(orphan, past, past)); err != nil {
		t.Fatal(err)
	}
	n, size, err := s.Purge(t.Context(), map[string]struct{}{kept.Hash: {}}, time.Minute)
	if err != nil || n != 1 || size != int64(len("old")) {
		t.Errorf("removed %d, %d bytes, %v", n, size, err)
	}
	for _, a := range []agent.Attachment{kept, named, young} {
		if _, err := s.Load(a.Hash); err != nil {
			t.Errorf("%s: %v", a.Name, err)
		}
	}
	if _, err := s.Load(old.Hash); agent.CodeOf(err) != agent.CodeNotFound {
		t.Errorf("the old one: %v", err)
	}
	for _, f := range []string{orphan, filepath.Join(s.root.Name(), place(old.Hash)+notesSuffix)} {
		if _, err := os.Stat(f); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there", f)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.Purge(ctx, nil, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("Purge after its end: %v", err)
	}
}

func TestPutWhilePurging(t *testing.T) {
	s := open(t, Options{})
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			for range 20 {
				a := put(t, s, "a", "shared by all")
				if _, err := s.Load(a.Hash); err != nil {
					t.Errorf("writer %d: %v", i, err)
				}
			}
		})
	}
	group.Go(func() {
		for range 40 {
			if _, _, err := s.Purge(t.Context(), nil, time.Minute); err != nil {
				t.Error(err)
			}
		}
	})
	group.Wait()
}

func TestCleanName(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"as it is", "Bericht 2026.pdf", "Bericht 2026.pdf"},
		{"path", "/etc/passwd", "passwd"},
		{"Windows path", `C:\Users\me\a.txt`, "a.txt"},
		{"climbing", "../..", "file"},
		{"nothing", "", "file"},
		{"dots", " . ", "file"},
		{"control characters", "a\x00b\nc\x7f.txt", "abc.txt"},
		{"direction", "gnp\u202etxt.exe", "gnptxt.exe"},
		{"invisible", "a\u200bb.txt", "ab.txt"},
		{"broken UTF-8", "a\xffb.txt", "ab.txt"},
		{"family emoji", "👩\u200d👧.png", "👩\u200d👧.png"},
		{"odd blanks", "a\u00a0b\u2028c", "a b c"},
		{"long", strings.Repeat("ä", 300) + ".pdf", strings.Repeat("ä", 125) + ".pdf"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := CleanName(test.in); got != test.want {
				t.Errorf("CleanName(%q) = %q, want %q", test.in, got, test.want)
			}
		})
	}
}

func FuzzCleanName(f *testing.F) {
	f.Add("a/b\\c\u202e.txt")
	f.Fuzz(func(t *testing.T, name string) {
		got := CleanName(name)
		if got == "" || len(got) > maxName || !utf8.ValidString(got) || strings.ContainsAny(got, "/\\\n\x00\u202e") || got == ".." {
			t.Errorf("CleanName(%q) = %q", name, got)
		}
	})
}

// FuzzPut stores arbitrary bytes. PDFs go the way they go in the server, since the parser is not trusted.
func FuzzPut(f *testing.F) {
	f.Add([]byte("hello"))
	f.Add([]byte("\xff\xfea\x00"))
	f.Add([]byte(picture(f, png.Encode)))
	f.Add([]byte(webp("VP8X", "\x10\x00\x00\x00\x1f\x03\x00\x57\x02\x00")))
	f.Add(pages("hello"))
	f.Add([]byte("PK\x03\x04"))
	s, err := Open(f.TempDir(), Options{PDF: helper(f, "read", time.Second)})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := s.Close(); err != nil {
			f.Error(err)
		}
	})
	f.Fuzz(func(t *testing.T, data []byte) {
		part, err := s.Put(t.Context(), "name", bytes.NewReader(data))
		if err != nil {
			if agent.CodeOf(err) != agent.CodeInvalid {
				t.Fatal(err)
			}
			return
		}
		a := attached(part)
		if kept, err := s.Load(a.Hash); err != nil || !bytes.Equal(kept, data) {
			t.Fatalf("kept %d of %d bytes: %v", len(kept), len(data), err)
		}
		if file, ok := part.(agent.File); ok && (!utf8.ValidString(file.Extract) || len(file.Extract) > MaxExtract || strings.ContainsRune(file.Extract, 0)) {
			t.Fatalf("extract %q", file.Extract)
		}
	})
}
