package remember

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"ash/agent"
	"ash/agent/tool"
)

//go:embed note_read.md
var noteReadText string

//go:embed note_write.md
var noteWriteText string

const (
	maxPiece    = 24 << 10  // bytes of a note in one result
	maxNote     = 512 << 10 // bytes of a note that is written here
	maxEdits    = 40
	maxNotePath = 400
	maxDiff     = 128 << 10 // bytes of a diff that is shown
)

// noteReadArguments are those of note_read.
type noteReadArguments struct {
	Path string `json:"path" jsonschema:"below the notes folder, such as garden/roses.md"`
	From int    `json:"from,omitempty" jsonschema:"line to begin with, from 1"`
}

type noteReader struct{ kit }

func (k kit) noteRead() tool.Tool {
	return tool.Define(tool.Definition{
		Name: "note_read", Title: "Read a note", Description: noteReadText,
		About:  "Reads one of your notes.",
		Effect: agent.EffectRead, Family: tool.FamilyMemory,
	}, noteReader{k})
}

// notePath checks the path of a note; what it may be beyond that the notes decide.
func notePath(path string) (string, error) {
	path = strings.TrimPrefix(strings.TrimSpace(path), "notes/")
	if path == "" || len(path) > maxNotePath || strings.ContainsAny(path, "\x00\n\r") {
		return "", agent.Errorf(agent.CodeInvalid, "That is no path of a note. Write it like garden/roses.md.")
	}
	return path, nil
}

// Plan implements tool.Handler.
func (r noteReader) Plan(_ context.Context, _ tool.Env, a noteReadArguments) (tool.Plan, error) {
	path, err := notePath(a.Path)
	return tool.Plan{Effect: agent.Effect{Kind: agent.EffectRead, Target: path}}, err
}

// Run implements tool.Handler.
func (r noteReader) Run(ctx context.Context, _ tool.Env, a noteReadArguments, _ tool.Progress) (agent.ToolOutcome, error) {
	path, err := notePath(a.Path)
	if err != nil {
		return agent.ToolOutcome{}, err
	}
	n, err := r.o.Notes.Read(ctx, path)
	if err != nil {
		return agent.ToolOutcome{}, err
	}
	if n.Missing {
		return tool.Failed("There is no such note. recall finds notes by what they say."), nil
	}
	lines := slices.Collect(strings.Lines(n.Text))
	from := max(a.From, 1)
	if from > len(lines) && len(lines) > 0 {
		return tool.Failed(fmt.Sprintf("The note has %d lines.", len(lines))), nil
	}
	var b strings.Builder
	next := 0
	for i := from - 1; i < len(lines); i++ {
		l := lines[i]
		if b.Len()+len(l) > maxPiece {
			if b.Len() > 0 {
				next = i + 1
				break
			}
			l = agent.Clip(l, maxPiece) + " [… this line is cut here]\n"
		}
		b.WriteString(l)
	}
	text := b.String()
	if next > 0 {
		text += fmt.Sprintf("[… %d more lines: read on with from: %d]", len(lines)-next+1, next)
	}
	if text == "" {
		text = "[The note is empty.]"
	}
	out := tool.Text(text)
	out.Labels = n.Labels.Union(tool.Private("note:" + path))
	return out, nil
}

// Edit is one change to a note.
type Edit struct {
	Old string `json:"old" jsonschema:"passage as it stands in the note, exactly once"`
	New string `json:"new" jsonschema:"what takes its place"`
}

// noteWriteArguments are those of note_write.
type noteWriteArguments struct {
	Path    string  `json:"path" jsonschema:"below the notes folder, ends in .md"`
	Content *string `json:"content,omitempty" jsonschema:"the whole text of a new note, or in the place of the old one"`
	Edits   []Edit  `json:"edits,omitempty" jsonschema:"changes to a note that is there"`
}

type noteWriter struct{ kit }

func (k kit) noteWrite() tool.Tool {
	return tool.Define(tool.Definition{
		Name: "note_write", Title: "Write a note", Description: noteWriteText,
		About:  "Makes or changes a note. It shows the difference and asks.",
		Effect: agent.EffectRemember, Family: tool.FamilyMemory,
	}, noteWriter{k})
}

// draft is a note about to be written.
type draft struct {
	was  Note
	text string
}

func (w noteWriter) plan(ctx context.Context, a noteWriteArguments) (tool.Plan, draft, error) {
	path, err := notePath(a.Path)
	if err != nil {
		return tool.Plan{}, draft{}, err
	}
	if (a.Content != nil) == (len(a.Edits) > 0) {
		return tool.Plan{}, draft{}, agent.Errorf(agent.CodeInvalid, "Send either content or edits.")
	}
	was, err := w.o.Notes.Read(ctx, path)
	if err != nil {
		return tool.Plan{}, draft{}, err
	}
	d := draft{was: was}
	switch {
	case !was.Missing && was.Fixed != "":
		return tool.Plan{}, d, agent.Errorf(agent.CodeInvalid, "This note cannot be changed here. %s", was.Fixed)
	case a.Content != nil:
		d.text = *a.Content
	case was.Missing:
		return tool.Plan{}, d, agent.Errorf(agent.CodeNotFound, "There is no such note to edit. Send content to make it.")
	default:
		if d.text, err = edited(was.Text, a.Edits); err != nil {
			return tool.Plan{}, d, err
		}
	}
	if err := w.check(d); err != nil {
		return tool.Plan{}, d, err
	}
	title := "Change a note"
	from := "a/" + path
	if was.Missing {
		title, from = "Make a note", "/dev/null"
	}
	diff := udiff.Unified(from, "b/"+path, was.Text, d.text)
	e := agent.Effect{Kind: agent.EffectRemember, Title: title, Target: "notes/" + path, Diff: w.o.Redact(diff)}
	if len(e.Diff) > maxDiff {
		e.Diff, e.Opaque = agent.Clip(e.Diff, maxDiff)+"\n[… the rest of this diff is not shown]\n", true
	}
	return tool.Plan{Effect: e, State: was.Hash}, d, nil
}

// check refuses what should not be written.
func (w noteWriter) check(d draft) error {
	switch {
	case len(d.text) > maxNote:
		return agent.Errorf(agent.CodeInvalid, "The note would be longer than %d KB. Split it.", maxNote>>10)
	case strings.ContainsRune(d.text, 0):
		return agent.Errorf(agent.CodeInvalid, "The text holds a NUL character.")
	case d.text == d.was.Text && !d.was.Missing:
		return agent.Errorf(agent.CodeInvalid, "The note says exactly this already: nothing would change.")
	case strings.Count(d.text, "[forgotten]") > strings.Count(d.was.Text, "[forgotten]"):
		return agent.Errorf(agent.CodeInvalid, "Something in it was forgotten at the person's wish. Leave it out.")
	case strings.Count(d.text, "[secret: ") > strings.Count(d.was.Text, "[secret: "), w.o.Redact(d.text) != d.text && w.o.Redact(d.was.Text) == d.was.Text:
		return agent.Errorf(agent.CodeInvalid, "The text holds a password or key, or the mark of one that was left out. Leave it out: the person can put it into the vault.")
	}
	return nil
}

// edited makes the edits, all or none. The errors quote nothing of the note.
func edited(text string, edits []Edit) (string, error) {
	if len(edits) > maxEdits {
		return "", agent.Errorf(agent.CodeInvalid, "At most %d edits in one call.", maxEdits)
	}
	for i, e := range edits {
		if e.Old == "" {
			return "", agent.Errorf(agent.CodeInvalid, "Edit %d: old is empty.", i+1)
		}
		switch n := strings.Count(text, e.Old); n {
		case 1:
			text = strings.Replace(text, e.Old, e.New, 1)
		case 0:
			return "", agent.Errorf(agent.CodeInvalid, "Edit %d: old does not stand in the note. Read it again and copy the passage letter for letter.", i+1)
		default:
			return "", agent.Errorf(agent.CodeInvalid, "Edit %d: old stands in the note %d times. Take more of the text around it.", i+1, n)
		}
		if len(text) > 2*maxNote {
			return "", agent.Errorf(agent.CodeInvalid, "The note would be longer than %d KB. Split it.", maxNote>>10)
		}
	}
	return text, nil
}

// Plan implements tool.Handler.
func (w noteWriter) Plan(ctx context.Context, _ tool.Env, a noteWriteArguments) (tool.Plan, error) {
	p, _, err := w.plan(ctx, a)
	return p, err
}

// Run implements tool.Handler.
func (w noteWriter) Run(ctx context.Context, env tool.Env, a noteWriteArguments, _ tool.Progress) (agent.ToolOutcome, error) {
	p, d, err := w.plan(ctx, a)
	if err != nil {
		return agent.ToolOutcome{}, err
	}
	if !env.Approved(p) {
		return agent.ToolOutcome{}, errChanged()
	}
	path, err := notePath(a.Path)
	if err != nil {
		return agent.ToolOutcome{}, err
	}
	// What was in the note stays as it was labelled; the notes see to that. The new text bears the prompt's labels.
	if err := w.o.Notes.Write(ctx, path, d.was.Hash, d.text, env.Labels); err != nil {
		return agent.ToolOutcome{}, err
	}
	did := "Changed"
	if d.was.Missing {
		did = "Made"
	}
	return tool.Text(fmt.Sprintf("%s the note %s: %d lines now.", did, path, strings.Count(d.text, "\n")+1)), nil
}
