package learn

import (
	"context"

	"ash/agent"
)

const (
	concerned   = 60 // current facts a run is shown
	maxTries    = 6  // calls that fail before a run goes on without one
	maxBadTries = 2  // answers that cannot be used before a run goes on without one
)

// Learn makes one run over a conversation now, whether it rests or not. more says that messages are left for another one.
// CodeConflict while its turn is active.
func (l *Learner) Learn(ctx context.Context, thread agent.ID) (more bool, err error) {
	return l.learn(ctx, thread, 0)
}

func (l *Learner) learn(ctx context.Context, thread agent.ID, tries int) (more bool, err error) {
	tail, err := l.o.Conversations.Tail(ctx, thread)
	if err != nil {
		return false, err
	}
	switch {
	case tail.Turn.State == agent.TurnRunning || tail.Turn.State == agent.TurnStopping || tail.Head.State == agent.MessageOpen:
		return false, agent.Errorf(agent.CodeConflict, "An answer is being written in this conversation.")
	case tail.Head.ID == "" || tail.Thread.ParentCall != "" || !tail.Thread.Deleted.IsZero():
		return false, nil
	}
	through, err := l.o.Book.Learned(ctx, thread)
	if err != nil {
		return false, err
	}
	path, err := l.o.Conversations.Path(ctx, tail.Head.ID, maxPath)
	if err != nil {
		return false, err
	}
	list := fresh(path, through)
	if len(list) == 0 {
		return false, nil
	}
	if l.mode() == Off {
		// What is said while learning is off is not learned later either: the run only says how far that goes.
		return false, l.o.Book.Keep(ctx, Outcome{Run: l.newRun(thread, list[len(list)-1].ID)})
	}
	m := l.gather(tail.Thread, path, list, len(path) < maxPath, l.room())
	return m.more, l.over(ctx, m, tries)
}

// mode reads the setting.
func (l *Learner) mode() Mode {
	if m := l.o.Mode(); m == Automatic || m == Ask {
		return m
	}
	return Off
}

func (l *Learner) newRun(thread, through agent.ID) agent.MemoryRun {
	return agent.MemoryRun{ID: agent.NewID(), Kind: agent.RunLearn, Thread: thread, Through: through, Created: l.o.Now().UTC()}
}

// over makes one run over material.
func (l *Learner) over(ctx context.Context, m material, tries int) error {
	r := &pass{l: l, m: m, run: l.newRun(m.thread.ID, m.through), mode: l.mode()}
	if m.ownWords() {
		facts, err := l.o.Book.Concerning(ctx, l.o.Owner, m.own(), concerned)
		if err != nil {
			return err
		}
		r.facts = facts
		if err := r.collect(ctx, tries); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	// The episode first: should the program end between the two, the run is made again and writes the same one anew.
	if r.episode != nil {
		if err := l.o.Episodes.SaveEpisode(ctx, *r.episode); err != nil {
			return err
		}
	}
	out := Outcome{Run: r.run, Propose: r.propose}
	if err := l.o.Book.Keep(ctx, out); err != nil {
		return err
	}
	l.kept(r.run, r.most)
	l.o.Log.Info("learned", "thread", m.thread.ID, "run", r.run.ID, "changes", len(r.run.Changes), "proposals", len(r.propose),
		"model", r.run.Model.String(), "cost", int64(r.run.Usage.Cost))
	if len(out.Run.Changes)+len(out.Propose) > 0 {
		l.o.Learned(ctx, m.thread.ID, out)
	}
	return nil
}

// collect finds what to keep: by phrases, and by a model when there is one.
func (r *pass) collect(ctx context.Context, tries int) error {
	plain := r.l.phrases().read(r.m.said)
	found, asked, err := r.byModel(ctx, tries)
	if err != nil {
		return err
	}
	if !asked {
		found.keep, found.expire = plain.keep, plain.expire
		found.episode = sketch(r.m)
	} else {
		// What the person asked for in so many words, or put right ("not X but Y"), is not left to the model's judgement; what it
		// words better is.
		for _, k := range plain.keep {
			if (k.explicit || k.swap != nil) && !found.covers(k) {
				found.keep = append(found.keep, k)
			}
		}
		found.expire = append(found.expire, plain.expire...)
	}
	return r.settle(ctx, found)
}
