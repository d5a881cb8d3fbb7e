package files

import (
	"context"
	"fmt"

	"ash/agent"
	"ash/agent/tool"
)

// editArguments are those of file_edit.
type editArguments struct {
	Path  string `json:"path" jsonschema:"file relative to the root, or in a further folder by its absolute path"`
	Edits []Edit `json:"edits" jsonschema:"the changes, made one after the other; all or none"`
}

type editor struct{ f *Files }

// prepare makes the edits. The error is for the model.
func (e editor) prepare(t *target, a editArguments) (change, int, error) {
	switch {
	case t.was.info == nil:
		return change{}, 0, t.notFound()
	case !t.was.plain:
		return change{}, 0, agent.Errorf(agent.CodeInvalid, "The file is not text: it is %s of %s, and cannot be edited. Use a command.", mediaOf(t.was.raw), bytesOf(t.was.size))
	}
	text, n, err := apply(t.was.text, t.was.form.crlf, a.Edits)
	if err != nil {
		return change{}, 0, err
	}
	if marked(text, t.was.text) {
		return change{}, 0, agent.Errorf(agent.CodeInvalid, "new holds a mark such as [secret: …], which stands for a password or key that was left out of it. Leave that line as it is, or ask the person to enter the key.")
	}
	if text == t.was.text {
		return change{}, 0, agent.Errorf(agent.CodeInvalid, "Together these edits change nothing.")
	}
	c := change{text: text}
	if c.data, err = t.was.form.bytes(text); err != nil {
		return change{}, 0, agent.Wrap(agent.CodeInvalid, err, "The file is written in %s, which lacks %s. Use other characters, or replace the whole file with file_write, which makes it UTF-8.", t.was.form.charset, err)
	}
	e.f.keep(t, &c)
	return c, n, nil
}

// Plan implements tool.Handler.
func (e editor) Plan(ctx context.Context, env tool.Env, a editArguments) (tool.Plan, error) {
	t, err := e.f.aim(ctx, env, a.Path)
	if err != nil {
		return tool.Plan{}, err
	}
	defer e.f.close(t)
	c, _, err := e.prepare(t, a)
	if err != nil {
		return tool.Plan{}, err
	}
	return e.f.plan(t, "Edit a file", c), nil
}

// Run implements tool.Handler.
func (e editor) Run(ctx context.Context, env tool.Env, a editArguments, _ tool.Progress) (agent.ToolOutcome, error) {
	end, err := e.f.begin(ctx)
	if err != nil {
		return agent.ToolOutcome{}, err
	}
	defer end()
	t, err := e.f.aim(ctx, env, a.Path)
	if err != nil {
		return agent.ToolOutcome{}, err
	}
	defer e.f.close(t)
	c, n, err := e.prepare(t, a)
	if err != nil {
		if env.Call.Decision != nil { // it fitted when it was approved
			err = errChanged()
		}
		return agent.ToolOutcome{}, err
	}
	if err := approved(env, e.f.plan(t, "Edit a file", c)); err != nil {
		return agent.ToolOutcome{}, err
	}
	known, err := e.f.o.Provenance.Labels(ctx, t.base, t.path, t.was.hash)
	if err != nil {
		return agent.ToolOutcome{}, err
	}
	if err := e.f.commit(ctx, env, t, c, known.Union(env.Labels)); err != nil {
		return agent.ToolOutcome{}, err
	}
	passages := "1 passage"
	if n != 1 {
		passages = fmt.Sprintf("%d passages", n)
	}
	return done(fmt.Sprintf("Edited %s: %s replaced, %s now.", quote(t.shown()), passages, bytesOf(int64(len(c.data)))), c), nil
}
