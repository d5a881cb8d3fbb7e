package files

import (
	"context"
	"fmt"
	"strings"

	"ash/agent"
	"ash/agent/tool"
)

// writeArguments are those of file_write.
type writeArguments struct {
	Path    string `json:"path" jsonschema:"file relative to the root, or in a further folder by its absolute path; folders that are missing are made"`
	Content string `json:"content" jsonschema:"the whole new text"`
}

type writer struct{ f *Files }

// prepare says what is to become of t. The error is for the model.
func (w writer) prepare(t *target, a writeArguments) (change, error) {
	switch {
	case strings.IndexByte(a.Content, 0) >= 0:
		return change{}, errNUL()
	case marked(a.Content, t.was.text):
		return change{}, agent.Errorf(agent.CodeInvalid, "The text holds a mark such as [secret: …], which stands for a password or key that was left out of it. Writing it would put the mark in the place of the key. Change the other lines with file_edit, or ask the person to enter the key.")
	}
	c := change{text: a.Content}
	fm := form{charset: utf8Text}
	if t.was.plain && t.was.size > 0 {
		fm = t.was.form
	}
	if fm.crlf {
		c.text = lf(c.text)
	}
	if unmarked, ok := strings.CutPrefix(c.text, "\ufeff"); ok {
		c.text, fm.bom = unmarked, true
	}
	var err error
	if c.data, err = fm.bytes(c.text); err != nil {
		c.notes = append(c.notes, fmt.Sprintf("It was written in %s, which lacks %s; it becomes UTF-8.", fm.charset, err))
		if c.data, err = (form{charset: utf8Text, crlf: fm.crlf}).bytes(c.text); err != nil {
			return change{}, agent.Errorf(agent.CodeInvalid, "This text cannot be written: it would not be read as the same text again.")
		}
	}
	if t.was.info != nil && hashOf(c.data) == t.was.hash {
		return change{}, agent.Errorf(agent.CodeInvalid, "The file holds exactly this already: nothing would change.")
	}
	w.f.keep(t, &c)
	return c, nil
}

func (w writer) plan(t *target, a writeArguments) (tool.Plan, change, error) {
	c, err := w.prepare(t, a)
	if err != nil {
		return tool.Plan{}, c, err
	}
	title := "Make a file"
	if t.was.info != nil {
		title = "Replace a file"
	}
	return w.f.plan(t, title, c), c, nil
}

// Plan implements tool.Handler.
func (w writer) Plan(ctx context.Context, env tool.Env, a writeArguments) (tool.Plan, error) {
	t, err := w.f.aim(ctx, env, a.Path)
	if err != nil {
		return tool.Plan{}, err
	}
	defer w.f.close(t)
	p, _, err := w.plan(t, a)
	return p, err
}

// Run implements tool.Handler.
func (w writer) Run(ctx context.Context, env tool.Env, a writeArguments, _ tool.Progress) (agent.ToolOutcome, error) {
	end, err := w.f.begin(ctx)
	if err != nil {
		return agent.ToolOutcome{}, err
	}
	defer end()
	t, err := w.f.aim(ctx, env, a.Path)
	if err != nil {
		return agent.ToolOutcome{}, err
	}
	defer w.f.close(t)
	p, c, err := w.plan(t, a)
	if err == nil {
		err = approved(env, p)
	}
	if err == nil {
		err = w.f.commit(ctx, env, t, c, env.Labels)
	}
	if err != nil {
		return agent.ToolOutcome{}, err
	}
	did := "Made"
	if t.was.info != nil {
		did = "Replaced"
	}
	return done(fmt.Sprintf("%s %s: %d lines, %s.", did, quote(t.shown()), len(splitLines(c.text)), bytesOf(int64(len(c.data)))), c), nil
}

// done is the outcome of a change. It holds nothing out of the file, and so bears no labels.
func done(text string, c change) agent.ToolOutcome {
	if len(c.notes) > 0 {
		text += " " + strings.Join(c.notes, " ")
	}
	return tool.Text(text)
}
