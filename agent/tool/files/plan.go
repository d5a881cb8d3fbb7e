package files

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"ash/agent"
	"ash/agent/tool"
)

// target is a file that is to be changed, and what it holds.
type target struct {
	*spot
	was content
}

// change is what is to become of a target.
type change struct {
	data  []byte
	text  string   // data, decoded
	kept  bool     // a version can bring back what was there before
	notes []string // for the model and the person
}

// secretMark is what package guard leaves in the place of a secret.
var secretMark = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[secret: [a-z0-9][a-z0-9_.-]{0,80}\]`) })

// aim opens what a path names for a change. What holds more than MaxText is an error. The caller closes it.
func (f *Files) aim(ctx context.Context, env tool.Env, p string) (*target, error) {
	if strings.HasSuffix(slashed(p), "/") {
		return nil, agent.Errorf(agent.CodeInvalid, "The path ends in a slash. Name the file itself; folders are made along with it.")
	}
	s, err := f.find(env, p)
	if err != nil {
		return nil, err
	}
	t := &target{spot: s}
	if err := t.check(); err != nil {
		f.close(s)
		return nil, err
	}
	if t.was, err = s.load(ctx, MaxText); err != nil {
		f.close(s)
		return nil, err
	}
	t.was.decode()
	return t, nil
}

// check refuses what may not be changed.
func (t *target) check() error {
	if !t.write {
		return agent.Errorf(agent.CodeDenied, "The folder %s was added for reading only. The person can allow changes in it.", quote(t.base))
	}
	if withinGit(t.path) {
		return agent.Errorf(agent.CodeDenied, "Nothing is written inside .git: what stands there runs with the next git command. Use git itself.")
	}
	if t.info != nil {
		if err := t.ordinary(); err != nil {
			return err
		}
		if t.info.Mode().Perm()&0o222 == 0 {
			return agent.Errorf(agent.CodeDenied, "The file is marked read-only. The person can allow writing to it.")
		}
		if strings.HasPrefix(path.Base(t.path), tempPrefix) {
			return checkNewName(path.Base(t.path))
		}
		return nil
	}
	at := ""
	for name := range strings.SplitSeq(t.path, "/") {
		at = path.Join(at, name)
		if _, err := t.root.Lstat(at); err == nil {
			continue
		}
		if err := checkNewName(name); err != nil {
			return err
		}
	}
	return nil
}

// plan is what the person is asked about.
func (f *Files) plan(t *target, title string, c change) tool.Plan {
	e := agent.Effect{Kind: agent.EffectWrite, Title: title, Target: t.shown(), Text: strings.Join(c.notes, " ")}
	name := quote(t.shown())
	switch {
	case t.was.info != nil && !t.was.plain:
		e.Diff = fmt.Sprintf("--- a/%s\n+++ b/%s\nBinary file (%s, %s) replaced by this text:\n", name, name, mediaOf(t.was.raw), bytesOf(t.was.size))
		diff, complete := unified(name, "", c.text)
		e.Diff, e.Opaque = e.Diff+diff, !complete
	default:
		diff, complete := unified(name, t.was.text, c.text)
		e.Diff, e.Opaque = diff, !complete
	}
	e.Diff = f.o.Redact(e.Diff)
	return tool.Plan{Effect: e, State: t.was.hash + " in " + t.base}
}

// keep decides whether a version will be able to bring back what t holds, and if not, notes why.
func (f *Files) keep(t *target, c *change) {
	switch {
	case t.was.size > MaxVersion:
		c.notes = append(c.notes, fmt.Sprintf("This cannot be undone: the file has %s, and versions are kept up to %s.", bytesOf(t.was.size), bytesOf(MaxVersion)))
	case t.was.plain && f.o.Redact(t.was.text) != t.was.text:
		c.notes = append(c.notes, "This cannot be undone: the file holds what looks like a password or key, of which no copy is kept.")
	default:
		c.kept = true
	}
}

// marked reports whether text has marks of secrets that old had not.
func marked(text, old string) bool {
	return slices.ContainsFunc(secretMark().FindAllString(text, -1), func(mark string) bool {
		return strings.Count(text, mark) > strings.Count(old, mark)
	})
}

// approved refuses a change of something else than the person saw. The Box has asked already; between that and here
// the file may have changed.
func approved(env tool.Env, p tool.Plan) error {
	if !env.Approved(p) {
		return errChanged()
	}
	return nil
}

func errChanged() error {
	return agent.Errorf(agent.CodeConflict, "The file was changed by something else in the meantime, so nothing was written. Read it again and repeat the change on what it holds now.")
}
