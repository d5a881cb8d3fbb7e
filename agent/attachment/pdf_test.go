package attachment

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ash/agent"
)

// TestMain lets the test binary stand in for Ash as the helper that reads PDFs.
func TestMain(m *testing.M) {
	switch os.Getenv("ATTACHMENT_HELPER") {
	case "read":
		os.Exit(Helper(os.Stdin, os.Stdout))
	case "hang":
		time.Sleep(time.Minute)
	case "flood":
		for {
			if _, err := os.Stdout.Write(make([]byte, 1<<20)); err != nil {
				os.Exit(0)
			}
		}
	case "nonsense":
		fmt.Print("not JSON")
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func helper(tb testing.TB, mode string, limit time.Duration) Subprocess {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	return Subprocess{Path: self, Env: []string{"ATTACHMENT_HELPER=" + mode}, Time: limit}
}

// makePDF writes a PDF of objects, the first of which is the catalogue; extra goes into the trailer.
func makePDF(extra string, objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.4\n")
	var at []int
	for i, o := range objects {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	table := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, n := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", n)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, extra, table)
	return b.Bytes()
}

func stream(content string) string {
	return fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(content), content)
}

// pages is a PDF with one page per text.
func pages(texts ...string) []byte {
	objects := []string{"<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"}
	var kids []string
	for _, t := range texts {
		n := len(objects) + 1
		kids = append(kids, fmt.Sprintf("%d 0 R", n))
		objects = append(objects,
			fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R /Resources << /Font << /F1 3 0 R >> >> >>", n+1),
			stream("BT\n/F1 24 Tf\n72 720 Td\n("+t+") Tj\nET"))
	}
	objects[1] = fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", strings.Join(kids, " "), len(texts))
	return makePDF("", objects...)
}

// bombs are PDFs made against the parser. Each used to hang it, or to end the process.
func bombs() map[string][]byte {
	long := "<< /Type /Catalog /Pages 2 0 R >>"
	return map[string][]byte{
		"cross references in a circle": []byte("%PDF-1.4\nxref\n0 1\n0000000000 65535 f \ntrailer\n<< /Size 1 /Prev 9 >>\n%" + strings.Repeat("-", 100) + "\nstartxref\n9\n%%EOF\n"),
		"a table of a trillion":        []byte("%PDF-1.4\n1 0 obj\n<< /Type /XRef /Size 900000000000 /W [1 1 1] /Length 0 >>\nstream\n\nendstream\nendobj\nstartxref\n9\n%%EOF" + strings.Repeat("\n", 10)),
		// Objects 1 and 2 are said to lie within object 2: looking for it recurses until the stack is full.
		"an object within itself": []byte("%PDF-1.5\n3 0 obj\n<< /Type /XRef /Size 3 /W [1 1 1] /Root 1 0 R /Length 9 >>\nstream\n\x00\x00\x00\x02\x02\x00\x02\x02\x00\nendstream\nendobj\nstartxref\n9\n%%EOF\n"),
		"pages in a circle":       makePDF("", long, "<< /Type /Pages /Kids [2 0 R] /Count 5 >>"),
		"parents in a circle":     makePDF("", long, "<< /Type /Pages /Kids [3 0 R] /Count 1 /Parent 3 0 R >>", "<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>", stream("BT (x) Tj ET")),
		"a character map without end": makePDF("", long, "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
			"<< /Type /Page /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>", stream("BT /F1 1 Tf (x) Tj ET"),
			"<< /Type /Font /Encoding /Identity-H /ToUnicode 6 0 R >>", stream("begincmap 900000000000 beginbfchar endbfchar endcmap")),
		"a million pages": makePDF("", long, "<< /Type /Pages /Kids [3 0 R] /Count 100000000 >>", "<< /Type /Page /Contents 4 0 R >>", stream("BT (x) Tj ET")),
	}
}

func TestBombsAreContained(t *testing.T) {
	if racing {
		t.Skip("the race detector takes several times the memory")
	}
	for name, bomb := range bombs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, Options{PDF: helper(t, "read", time.Second)})
			began := time.Now()
			_, err := s.Put(t.Context(), "bomb.pdf", bytes.NewReader(bomb))
			took := time.Since(began)
			if took > 8*time.Second {
				t.Errorf("took %v", took)
			}
			if err != nil && agent.CodeOf(err) != agent.CodeInvalid {
				t.Errorf("error: %v", err)
			}
			t.Logf("after %v: %v", took.Round(time.Millisecond), err)
		})
	}
}

// TestHelperWatchesItsMemory reads a file that keeps 600 MB for ever: the helper must end long before its time is up.
func TestHelperWatchesItsMemory(t *testing.T) {
	if racing {
		t.Skip("the race detector takes several times the memory")
	}
	s := open(t, Options{PDF: helper(t, "read", 9*time.Second)})
	hoard := "%PDF-1.5\n3 0 obj\n<< /Type /XRef /Size 20000000 /Index [0 1] /W [1 1 1] /Prev 9 /Length 3 >>\nstream\n\x00\x00\x00\nendstream\nendobj\nstartxref\n9\n%%EOF\n"
	_, err := s.Put(t.Context(), "a.pdf", strings.NewReader(hoard))
	if err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("error %v", err)
	}
}

func TestPDF(t *testing.T) {
	many := make([]string, 300)
	for i := range many {
		many[i] = strings.Repeat("word ", 300)
	}
	for _, test := range []struct {
		name      string
		data      []byte
		want      string // in the text, or in what the person reads
		refused   bool
		truncated bool
	}{
		{"one page", pages("Hello Ash"), "Hello Ash", false, false},
		{"pages in order", pages("first", "second", "third"), "first\n\nsecond\n\nthird", false, false},
		{"long", pages(many...), "word word", false, true},
		{"scanned", pages("", " "), "scanned", true, false},
		{"encrypted", makePDF("/Encrypt << /Filter /Standard /V 5 /R 6 >> /ID [(a) (b)]", "<< /Type /Catalog >>"), "password", true, false},
		{"certificates", makePDF("/Encrypt << /Filter /Adobe.PubSec >>", "<< /Type /Catalog >>"), "password", true, false},
		{"cut off", pages("Hello Ash")[:300], "damaged", true, false},
		{"only a head", []byte("%PDF-1.7\n"), "damaged", true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			for kind, reader := range map[string]PDFReader{"in process": InProcess{}, "helper": helper(t, "read", 0)} {
				part, err := open(t, Options{PDF: reader}).Put(t.Context(), "a.pdf", bytes.NewReader(test.data))
				if test.refused {
					if agent.CodeOf(err) != agent.CodeInvalid || !strings.Contains(agent.PublicOf(err), test.want) {
						t.Errorf("%s: error %v", kind, err)
					}
					continue
				}
				if err != nil {
					t.Errorf("%s: %v", kind, err)
					continue
				}
				f := part.(agent.File)
				if f.Attachment.Media != "application/pdf" || !strings.Contains(f.Extract, test.want) || f.Truncated != test.truncated || len(f.Extract) > MaxExtract {
					t.Errorf("%s: %s, truncated %t, %d bytes: %.200q", kind, f.Attachment.Media, f.Truncated, len(f.Extract), f.Extract)
				}
			}
		})
	}
}

func TestScannedPDFIsKeptForModelsThatSeePages(t *testing.T) {
	s := open(t, Options{Documents: func() bool { return true }})
	part, err := s.Put(t.Context(), "scan.pdf", bytes.NewReader(pages("")))
	if err != nil {
		t.Fatal(err)
	}
	if f := part.(agent.File); f.Extract != "" || f.Attachment.Media != "application/pdf" {
		t.Errorf("%+v", f)
	}
}

func TestHelperThatMisbehaves(t *testing.T) {
	for mode, want := range map[string]string{"hang": "too long", "flood": "could not be read", "nonsense": "could not be read"} {
		limit := 4 * time.Second
		if mode == "hang" {
			limit = 200 * time.Millisecond
		}
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			_, err := open(t, Options{PDF: helper(t, mode, limit)}).Put(t.Context(), "a.pdf", bytes.NewReader(pages("x")))
			if !strings.Contains(agent.PublicOf(err), want) || time.Since(began) > 8*time.Second {
				t.Errorf("after %v: %v", time.Since(began), err)
			}
		})
	}
	_, err := open(t, Options{PDF: Subprocess{Path: filepath.Join(t.TempDir(), "none")}}).Put(t.Context(), "a.pdf", bytes.NewReader(pages("x")))
	if agent.CodeOf(err) != agent.CodeInvalid {
		t.Errorf("no helper: %v", err)
	}
}

func TestHelperWantsAFile(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	self := helper(t, "read", time.Second)
	if _, err := self.ReadPDF(t.Context(), r, 0); err == nil {
		t.Error("a pipe is read as a PDF")
	}
}

// slow is a file whose reads take their time.
type slow struct {
	io.ReaderAt
	each time.Duration
}

func (s slow) ReadAt(p []byte, off int64) (int, error) {
	time.Sleep(s.each)
	return s.ReaderAt.ReadAt(p, off)
}

func TestGuardEndsTheParser(t *testing.T) {
	data := bombs()["cross references in a circle"]
	g := &guard{f: slow{bytes.NewReader(data), time.Millisecond}}
	done := make(chan PDFText)
	go func() { done <- parse(g, int64(len(data))) }()
	time.Sleep(20 * time.Millisecond)
	g.close()
	select {
	case got := <-done:
		if got.Failed == "" {
			t.Errorf("read %+v", got)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("the parser goes on after its file was shut")
	}
}

func TestInProcessHeedsItsContextAndTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "loop.pdf")
	data := bombs()["cross references in a circle"]
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, err := (InProcess{Time: 50 * time.Millisecond}).ReadPDF(t.Context(), f, int64(len(data))); err != nil || got.Failed != pdfTooLong {
		t.Errorf("%+v, %v", got, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	cancel()
	if _, err := (InProcess{}).ReadPDF(ctx, f, int64(len(data))); err == nil {
		t.Error("goes on after its context ended")
	}
}
