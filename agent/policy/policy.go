package policy

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ash/agent"
)

// PrivateTexts gives what the person has told Ash and never said was public: the texts of SOUL.md and USER.md, and memory.
type PrivateTexts interface {
	// PrivateTexts returns what of it may have stood before the model when it asked for what a situation is about.
	PrivateTexts(ctx context.Context, s agent.Situation) ([]string, error)
}

// Options wires a Policy. Rules and Root are required.
type Options struct {
	Rules   RuleStore
	Private PrivateTexts                // nil: only what stands in the conversation is private
	Log     SecurityLog                 // nil: nothing is logged
	Orders  func(text string) bool      // the person's message holds orders that somebody else may have planted; nil finds none
	Root    func(t agent.Thread) string // the absolute folder a thread may see
	Logger  *slog.Logger                // nil discards
	Now     func() time.Time            // nil is time.Now
}

// Policy judges calls. It is safe for concurrent use.
type Policy struct {
	options Options
	texts   *textCache
}

// New returns a Policy.
func New(o Options) *Policy {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Policy{options: o, texts: newTextCache()}
}

// Judge decides about the effect e of call c in situation s, and returns e with its sources, private passages and offers.
// Errors are those of the stores; the call must not run then.
func (p *Policy) Judge(ctx context.Context, s agent.Situation, c agent.ToolCall, e agent.Effect) (agent.Judgement, error) {
	a := p.asked(s, c, e)
	rules, err := p.options.Rules.Rules(ctx, a.threads...)
	if err != nil {
		return agent.Judgement{}, err
	}
	a.effect.Told, a.effect.Keeps = a.effect.Kind == agent.EffectRemember && p.told(s, e.Keeps), nil
	v, err := p.verdict(ctx, s, a, rules)
	if err != nil {
		return agent.Judgement{}, err
	}
	a.large = a.effect.Kind == agent.EffectRead && a.effect.Opaque // as the file tools say it
	a.effect.Sources, a.effect.Private, a.effect.Opaque, a.effect.Offers = nil, v.leak.Private, v.leak.Opaque, nil
	if gated(a.effect.Kind) || v.flow {
		a.effect.Sources = v.sources
	}
	if v.Verdict == agent.Ask {
		a.effect.Offers = offers(a, v)
	}
	p.note(ctx, s, a, v)
	return agent.Judgement{Verdict: v.Verdict, Why: v.why(s, a), Effect: &a.effect}, nil
}

// asked gathers what rules look at.
func (p *Policy) asked(s agent.Situation, c agent.ToolCall, e agent.Effect) asked {
	a := asked{call: c, effect: e, root: p.options.Root(s.Thread), threads: threads(s)}
	a.solemn = e.Kind == agent.EffectRemember && len(e.Keeps) == 0
	switch e.Kind {
	case agent.EffectExecute:
		a.words, a.simple = simpleCommand(e.Text)
	case agent.EffectWrite:
		a.path = absolute(a.root, e.Target)
	case agent.EffectFetch:
		a.host = hostOf(e.Text)
	case agent.EffectSend:
		if a.host = hostOf(e.Text); a.host == "" && isHost(e.Target) && e.Target != anyPage {
			a.host = strings.ToLower(e.Target)
		}
	}
	return a
}

// absolute returns where a target lies; "" when that cannot be told.
func absolute(root, target string) string {
	switch {
	case target == "" || strings.ContainsRune(target, 0):
		return ""
	case filepath.IsAbs(target):
		return filepath.Clean(target)
	case root == "" || !filepath.IsLocal(target):
		return ""
	}
	return filepath.Join(root, target)
}

// hostOf returns the host of an absolute URL in lower case, with its port when it names one; "" for anything else.
func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil {
		return ""
	}
	host := strings.TrimSuffix(strings.ToLower(u.Host), ".")
	if !isHost(host) || host == anyPage {
		return ""
	}
	return host
}

func isMissing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}
