package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"ash/agent"
	"ash/agent/tool"
)

// Bounds of one reading.
const (
	readLines = 2000     // lines, unless asked otherwise
	readText  = 50 << 10 // bytes of text
	readLine  = 4 << 10  // bytes of one line
	sniffed   = 8 << 10  // bytes that tell text from other kinds, in files too large to be read whole
)

// readArguments are those of file_read.
type readArguments struct {
	Path   string `json:"path" jsonschema:"file relative to the root, or in a further folder by its absolute path"`
	Offset int    `json:"offset,omitempty" jsonschema:"first line, from 1"`
	Limit  int    `json:"limit,omitempty" jsonschema:"most lines; 2000 when left out"`
}

type reader struct{ f *Files }

// Plan implements tool.Handler.
func (r reader) Plan(_ context.Context, env tool.Env, a readArguments) (tool.Plan, error) {
	if a.Offset < 0 || a.Limit < 0 {
		return tool.Plan{}, agent.Errorf(agent.CodeInvalid, "offset and limit cannot be negative.")
	}
	s, err := r.f.find(env, a.Path)
	if err != nil {
		return tool.Plan{}, err
	}
	defer r.f.close(s)
	if err := s.ordinary(); err != nil {
		return tool.Plan{}, err
	}
	e := agent.Effect{Kind: agent.EffectRead, Title: "Read a file", Target: s.shown()}
	if size := s.info.Size(); size > MaxQuiet {
		e.Title, e.Opaque = "Read a large file ("+bytesOf(size)+")", true
	}
	return tool.Plan{Effect: e}, nil
}

// Run implements tool.Handler.
func (r reader) Run(ctx context.Context, env tool.Env, a readArguments, _ tool.Progress) (agent.ToolOutcome, error) {
	s, err := r.f.find(env, a.Path)
	if err != nil {
		return agent.ToolOutcome{}, err
	}
	defer r.f.close(s)
	if err := s.ordinary(); err != nil {
		return agent.ToolOutcome{}, err
	}
	if s.info.Size() > MaxText {
		return r.stream(ctx, s, a)
	}
	c, err := s.load(ctx, MaxText)
	if err != nil {
		return agent.ToolOutcome{}, err
	}
	return r.whole(ctx, s, a, c)
}

// whole answers with a file that is in memory.
func (r reader) whole(ctx context.Context, s *spot, a readArguments, c content) (agent.ToolOutcome, error) {
	labels, err := r.f.labelsOf(ctx, s, c.hash)
	if err != nil {
		return agent.ToolOutcome{}, err
	}
	if picture(c.raw) || bytes.HasPrefix(c.raw, []byte("%PDF-")) {
		return r.attached(ctx, s, a, bytes.NewReader(c.raw), labels)
	}
	c.decode()
	if !c.plain {
		return notText(s, c.raw, c.size), nil
	}
	out := lines(s, a, c.text, c.form.String())
	out.Labels = labels
	return out, nil
}

func notText(s *spot, head []byte, size int64) agent.ToolOutcome {
	return tool.Failed(fmt.Sprintf("%s is not text: it is %s of %s. Use a command to look into it.", quote(s.shown()), mediaOf(head), bytesOf(size)))
}

// attached answers with a picture, or with the text of a document.
func (r reader) attached(ctx context.Context, s *spot, a readArguments, file io.Reader, labels agent.Labels) (agent.ToolOutcome, error) {
	if r.f.o.Attachments == nil {
		return tool.Failed("Pictures and documents cannot be shown here."), nil
	}
	part, err := r.f.o.Attachments.Put(ctx, path.Base(s.path), file)
	if err != nil {
		if agent.CodeOf(err) == agent.CodeInvalid {
			o := tool.Failed(agent.PublicOf(err))
			o.Labels = labels
			return o, nil
		}
		return agent.ToolOutcome{}, err
	}
	switch p := part.(type) {
	case agent.Image:
		p.Labels = labels
		o := tool.Text(fmt.Sprintf("%s: a picture, %s.", quote(s.shown()), bytesOf(p.Attachment.Size)))
		o.Content, o.Labels = append(o.Content, p), labels
		return o, nil
	case agent.File:
		if p.Extract == "" {
			o := tool.Failed(fmt.Sprintf("%s holds no text that can be read; it may be a scan.", quote(s.shown())))
			o.Labels = labels
			return o, nil
		}
		about := "text of a PDF"
		if p.Truncated {
			about += ", its beginning"
		}
		o := lines(s, a, p.Extract, about)
		o.Labels = labels
		return o, nil
	}
	return agent.ToolOutcome{}, agent.Errorf(agent.CodeInternal, "The file cannot be shown.")
}

// lines answers with a range of the lines of a text.
func lines(s *spot, a readArguments, text, about string) agent.ToolOutcome {
	n := numberer{first: max(a.Offset, 1), most: readLines}
	if a.Limit > 0 {
		n.most = a.Limit
	}
	for line := range strings.Lines(text) {
		n.add(line, 0)
	}
	return n.outcome(s, about)
}

// numberer collects a range of lines, numbered.
type numberer struct {
	first, most int
	b           strings.Builder
	seen, shown int
	open        bool // the last line seen had no line break
	full        bool // a line did not fit any more
	counting    bool // of lines after the range was given up
}

// add takes the next line, with its line break. rest is how many bytes at its end were left out already.
func (n *numberer) add(line string, rest int) {
	n.seen++
	n.open = !strings.HasSuffix(line, "\n")
	if n.seen < n.first || n.full {
		return
	}
	line = strings.TrimSuffix(line, "\n")
	if whole := len(line); whole > readLine {
		line = agent.Clip(line, readLine)
		rest += whole - len(line)
	}
	if n.shown >= n.most || n.shown > 0 && n.b.Len()+len(line) > readText {
		n.full = true
		return
	}
	n.shown++
	fmt.Fprintf(&n.b, "%d\t%s", n.seen, line)
	if rest > 0 {
		fmt.Fprintf(&n.b, " [… %d more bytes of this line]", rest)
	}
	n.b.WriteByte('\n')
}

func (n *numberer) outcome(s *spot, about string) agent.ToolOutcome {
	var b strings.Builder
	total := fmt.Sprint(n.seen)
	if n.counting {
		total = "more than " + total
	}
	if about != "" {
		about = " (" + about + ")"
	}
	switch {
	case n.seen == 0:
		fmt.Fprintf(&b, "%s is empty.%s\n", quote(s.shown()), about)
	case n.shown == 0:
		return tool.Failed(fmt.Sprintf("%s has only %s lines.", quote(s.shown()), total))
	default:
		fmt.Fprintf(&b, "%s, lines %d to %d of %s%s:\n%s", quote(s.shown()), n.first, n.first+n.shown-1, total, about, n.b.String())
	}
	switch {
	case n.full:
		fmt.Fprintf(&b, "[there is more: offset %d goes on]\n", n.first+n.shown)
	case n.open:
		b.WriteString("[no line break at the end of the file]\n")
	}
	return tool.Text(b.String())
}

// stream answers with a range of a file that is too large to be held: UTF-8 or plain bytes, read once for
// the lines and, up to MaxHashed, for the hash.
func (r reader) stream(ctx context.Context, s *spot, a readArguments) (agent.ToolOutcome, error) {
	f, info, err := openFile(s.root, s.path)
	if err != nil {
		return agent.ToolOutcome{}, err
	}
	defer r.f.close(f)
	head := make([]byte, sniffed)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return agent.ToolOutcome{}, fileError(err, "The file cannot be read")
	}
	if head = head[:n]; picture(head) || bytes.HasPrefix(head, []byte("%PDF-")) || bytes.IndexByte(head, 0) >= 0 || !readable(head) {
		return notText(s, head, info.Size()), nil
	}
	big := &bigFile{whole: info.Size() <= MaxHashed}
	big.n = numberer{first: max(a.Offset, 1), most: readLines}
	if a.Limit > 0 {
		big.n.most = a.Limit
	}
	if err := big.read(ctx, f); err != nil {
		return agent.ToolOutcome{}, err
	}
	out := big.n.outcome(s, bytesOf(info.Size()))
	out.Labels, err = r.f.labelsOf(ctx, s, big.hash)
	return out, err
}
