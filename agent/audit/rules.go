package audit

import (
	"context"
	"fmt"
	"strings"
	"time"

	"ash/agent"
)

// Rule is a standing permission.
type Rule struct {
	ID     agent.ID
	Words  string // "commands beginning with `git log`"
	Tool   string // "*" for those that several tools share
	Match  string // in the notation of package policy
	Runs   bool   // the tool executes commands
	Sends  bool   // the tool reaches the network or sends
	Writes bool   // the tool changes files, memory or notes
	Thread agent.ID
	Uses   int
	Used   time.Time
	Made   time.Time
}

// Rules checks for standing permissions that allow too much.
type Rules struct {
	Look func(ctx context.Context) ([]Rule, error) // those that allow
	Home string                                    // the person's own home folder
	Now  func() time.Time
}

// Name implements Check.
func (Rules) Name() string { return "Standing permissions" }

// ruleRests is how long a permission is unused before it is worth a word.
const ruleRests = 90 * 24 * time.Hour

// interpreters run whatever follows them: to allow their beginning is to allow everything.
var interpreters = map[string]bool{
	"sh": true, "bash": true, "zsh": true, "dash": true, "python": true, "python3": true, "perl": true, "ruby": true, "node": true, "deno": true, "php": true, "lua": true, "awk": true,
	"sudo": true, "su": true, "doas": true, "env": true, "xargs": true, "eval": true, "exec": true, "find": true, "ssh": true, "curl": true, "wget": true, "nc": true, "make": true,
	"docker": true, "podman": true, "systemctl": true, "rm": true, "dd": true, "go": true, "npm": true, "npx": true, "pip": true,
}

// Run implements Check.
func (r Rules) Run(ctx context.Context, report func(Finding)) (string, error) {
	list, err := r.Look(ctx)
	for _, x := range list {
		f := Finding{Place: "rule " + string(x.ID), Link: "/tools", Fix: &Fix{Act: ActUnrule, Target: string(x.ID), Words: "Take back: " + x.Words, Ask: true}}
		if x.Thread != "" {
			f.Link = "/chat/" + string(x.Thread)
		}
		f.Severity, f.Text, f.Remedy = r.judge(x)
		if f.Severity == "" {
			rests := r.Now().Sub(latest(x.Used, x.Made))
			if rests < ruleRests {
				continue
			}
			f.Severity, f.Text, f.Remedy = Info, fmt.Sprintf("A standing permission was not used for %d days: %s.", int(rests.Hours()/24), x.Words), "Take it back if you no longer need it: Ash then asks again."
		}
		report(f)
	}
	return fmt.Sprintf("%d permissions", len(list)), err
}

// judge says what is too much about a rule; "" for nothing.
func (r Rules) judge(x Rule) (Severity, string, string) {
	const narrower = "Take it back. When Ash asks next, allow the narrower thing that its card offers."
	kind, what, _ := strings.Cut(x.Match, " ")
	switch {
	case x.Match == "" && x.Tool == "*":
		return Critical, "Everything is allowed without asking.", narrower
	case x.Match == "" && x.Runs:
		return High, "Every command is allowed without asking: " + x.Words + ".", narrower
	case x.Match == "" && x.Sends:
		return Medium, "A tool that reaches the network never asks: " + x.Words + ".", narrower
	case x.Match == "" && x.Writes:
		return Medium, "A tool that changes things never asks: " + x.Words + ".", narrower
	case kind == "run" && strings.HasSuffix(what, "…"):
		first, _, _ := strings.Cut(what, " ")
		if name := first[strings.LastIndexByte(first, '/')+1:]; interpreters[name] {
			return High, "Commands that begin with " + name + " are allowed without asking, and that runs whatever follows.", narrower
		}
	case kind == "folder":
		folder := strings.Trim(what, `"`)
		if folder == "/" || folder == r.Home || r.Home != "" && strings.HasPrefix(r.Home+"/", folder+"/") {
			return High, "Ash may change files in all of " + folder + " without asking.", narrower
		}
	}
	return "", "", ""
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
