package attachment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/ledongthuc/pdf"

	"ash/agent"
)

// PDFReader reads the text of a PDF: at most MaxExtract bytes, pages parted by
// blank lines. It returns within a bounded time whatever the file holds.
type PDFReader interface {
	ReadPDF(ctx context.Context, f *os.File, size int64) (PDFText, error)
}

// PDFText is what was read of a PDF.
type PDFText struct {
	Text      string `json:"text"`
	Truncated bool   `json:"truncated"`
	Pages     int    `json:"pages"`
	Failed    string `json:"failed,omitempty"` // one of the reasons below, "" when it could be read
}

// Why a PDF could not be read.
const (
	pdfEncrypted = "encrypted"
	pdfDamaged   = "damaged"
	pdfTooLong   = "too_long"
)

// Bounds on reading a PDF.
const (
	maxPages = 1000
	pdfTime  = 10 * time.Second
)

// readPDF reads a PDF and puts what went wrong plainly.
func (s *Store) readPDF(ctx context.Context, f *os.File, size int64) (string, bool, error) {
	t, err := s.pdf.ReadPDF(ctx, f, size)
	switch {
	case ctx.Err() != nil:
		return "", false, ctx.Err()
	case err != nil:
		return "", false, refuse(err, "This PDF could not be read: it is damaged or needs more time or memory than it is given.")
	case t.Failed == pdfEncrypted:
		return "", false, agent.Errorf(agent.CodeInvalid, "This PDF is protected with a password. Save a copy without the password and attach that.")
	case t.Failed == pdfTooLong:
		return "", false, refuse(nil, "This PDF takes too long to read. Attach the pages that matter, or the text.")
	case t.Failed != "":
		return "", false, refuse(nil, "This PDF is damaged and could not be read. Printing it to a new PDF often helps.")
	}
	text := strings.TrimSpace(decode(utf8Text, []byte(t.Text)))
	if !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		if s.documents() {
			return "", false, nil
		}
		return "", false, agent.Errorf(agent.CodeInvalid,
			"This PDF holds no text, only pictures of pages (it was probably scanned). Attach the pages as pictures, or run text recognition over it first.")
	}
	if len(text) > MaxExtract {
		return cut(text), true, nil
	}
	return text, t.Truncated, nil
}

// InProcess reads PDFs in this process. Panics of the parser are caught and a
// deadline ends it at its next read, but a file made for it can still use up memory or the stack and take the
// process down: a server reads with Subprocess.
type InProcess struct {
	Time time.Duration // most time for one file; 0 is 10 s
}

// ReadPDF implements PDFReader. The goroutine it starts ends at its next access to the file after
// ctx or the deadline ended, and does not touch f after ReadPDF returned.
func (p InProcess) ReadPDF(ctx context.Context, f *os.File, size int64) (PDFText, error) {
	limit := p.Time
	if limit <= 0 {
		limit = pdfTime
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	g := &guard{f: f}
	done := make(chan PDFText, 1)
	go func() { done <- parse(g, size) }()
	select {
	case t := <-done:
		if g.closed.Load() {
			t = PDFText{Failed: pdfTooLong}
		}
		return t, nil
	case <-ctx.Done():
		g.close()
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return PDFText{Failed: pdfTooLong}, nil
		}
		return PDFText{}, ctx.Err()
	}
}

// guard is the parser's only way to the file, and is shut when the parser has had its time. Every loop
// of the parser that follows references reads through it.
type guard struct {
	f      io.ReaderAt
	closed atomic.Bool
	using  atomic.Int32
}

var errShut = errors.New("time is up")

func (g *guard) ReadAt(p []byte, off int64) (int, error) {
	g.using.Add(1)
	defer g.using.Add(-1)
	if g.closed.Load() {
		panic(errShut)
	}
	return g.f.ReadAt(p, off)
}

// close shuts the file and waits for a read in progress, so that the caller may close f.
func (g *guard) close() {
	g.closed.Store(true)
	for g.using.Load() > 0 {
		time.Sleep(time.Millisecond)
	}
}

// parse reads a PDF page by page. A page that cannot be read is left out as long as others can.
func parse(g *guard, size int64) (t PDFText) {
	defer func() {
		if r := recover(); r != nil {
			t.Failed = pdfDamaged
			if len(t.Text) > 0 {
				t.Failed, t.Truncated = "", true
			}
		}
	}()
	r, err := pdf.NewReader(g, size)
	if err != nil {
		t.Failed = pdfDamaged
		if errors.Is(err, pdf.ErrInvalidPassword) || strings.Contains(err.Error(), "encryption") {
			t.Failed = pdfEncrypted
		}
		return t
	}
	t.Pages = r.NumPage()
	var text strings.Builder
	failed := 0
	for i := 1; i <= min(t.Pages, maxPages) && text.Len() <= MaxExtract; i++ {
		page, err := pageText(r, i)
		if err != nil {
			if g.closed.Load() {
				break
			}
			failed++
			continue
		}
		if page = tidy(page); page != "" {
			text.WriteString(page)
			text.WriteString("\n\n")
		}
		t.Text = text.String()
	}
	t.Truncated = t.Pages > maxPages || text.Len() > MaxExtract || failed > 0
	if failed > 0 && text.Len() == 0 {
		t.Failed = pdfDamaged
	}
	t.Text = agent.Clip(text.String(), MaxExtract+1024)
	return t
}

func pageText(r *pdf.Reader, i int) (text string, err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("page %d: %v", i, x)
		}
	}()
	return r.Page(i).GetPlainText(nil)
}

// tidy takes out what layout leaves behind: trailing blanks, and more than one empty line in a row.
func tidy(page string) string {
	var b strings.Builder
	empty := true
	for line := range strings.Lines(page) {
		line = strings.TrimRightFunc(line, unicode.IsSpace)
		if line == "" && empty {
			continue
		}
		empty = line == ""
		b.WriteString(line)
		b.WriteByte('\n')
	}
	return strings.TrimSpace(b.String())
}
