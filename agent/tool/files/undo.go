package files

import (
	"context"

	"ash/agent"
)

// Changes returns what a call changed, newest first: the change itself, and after it each undoing. The newest
// one says what Undo would do: bring back what was there Before.
func (f *Files) Changes(ctx context.Context, call agent.ID) ([]Version, error) {
	return f.o.Versions.FileVersions(ctx, call)
}

// Undo takes back the last change of a call, or the last undoing of it: pressing twice changes nothing. It is the person's
// word, so a folder that is for reading only is no obstacle. Errors: CodeNotFound when the call changed nothing (any more);
// CodeInvalid when no copy was kept; CodeConflict when the file is no longer what the call left.
func (f *Files) Undo(ctx context.Context, call agent.ID) error {
	end, err := f.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	all, err := f.o.Versions.FileVersions(ctx, call)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return agent.Errorf(agent.CodeNotFound, "There is no copy of what was there before this change (any more).")
	}
	return f.undo(ctx, all[0])
}

func (f *Files) undo(ctx context.Context, v Version) error {
	if !v.Kept {
		return agent.Errorf(agent.CodeInvalid, "What %s held before was not kept, because it was too large or held a key. It cannot be undone.", quote(v.Path))
	}
	s, err := f.revisit(v)
	if err != nil {
		return err
	}
	defer f.close(s)
	was, err := s.load(ctx, MaxText)
	if err != nil {
		return err
	}
	if was.hash != v.After {
		return f.errDiffers(v, was)
	}
	w := &swap{spot: s, was: was, gone: v.Before == "", mode: v.Mode, undoes: v.ID, labels: v.Labels}
	if w.gone {
		w.labels = nil
	} else {
		if w.data, err = f.o.Versions.FileVersionBytes(ctx, v.ID); err != nil {
			return err
		}
		if hashOf(w.data) != v.Before {
			return agent.Errorf(agent.CodeUnavailable, "The copy of what %s held before is damaged. Nothing was changed.", quote(v.Path))
		}
	}
	was.decode()
	w.version = Version{Thread: v.Thread, Call: v.Call}
	w.version.Kept = was.size <= MaxVersion && !(was.plain && f.o.Redact(was.text) != was.text)
	return f.swap(ctx, w)
}

// revisit opens the place of a version as it is now.
func (f *Files) revisit(v Version) (*spot, error) {
	r, err := f.enter(area{base: v.Root, write: true})
	if err != nil {
		return nil, err
	}
	s, err := r.resolve(v.Path)
	if err == nil && s.path != v.Path {
		err = agent.Errorf(agent.CodeConflict, "Where %s was there is a link now. Nothing was changed.", quote(v.Path))
	}
	if err == nil && s.info != nil {
		err = s.ordinary()
	}
	if err != nil {
		f.close(r)
		return nil, err
	}
	return s, nil
}

// errDiffers says in which way a file is not what a change left.
func (f *Files) errDiffers(v Version, was content) error {
	name := quote(v.Path)
	switch {
	case was.hash == v.Before && was.info == nil:
		return agent.Errorf(agent.CodeConflict, "%s is gone already: there is nothing to undo.", name)
	case was.hash == v.Before:
		return agent.Errorf(agent.CodeConflict, "%s already holds what it held before: there is nothing to undo.", name)
	case was.info == nil:
		return agent.Errorf(agent.CodeConflict, "%s was removed or renamed since. Put it back and undo again, or leave it as it is.", name)
	}
	return agent.Errorf(agent.CodeConflict, "%s was changed again since, so undoing would lose that. Undo the later change first, or edit the file yourself.", name)
}
