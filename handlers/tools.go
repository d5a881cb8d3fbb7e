package handlers

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/policy"
	"ash/agent/sandbox"
	"ash/agent/tool"
	"ash/views/components"
	"ash/views/layouts"
	"ash/views/pages"
)

const (
	lastRuns     = 5   // of each tool on the Tools page
	chartRuns    = 40  // bars in a tool's chart
	historyRuns  = 200 // runs that success and durations are computed from
	fewestRuns   = 3   // runs from which a rate says something
	logSize      = 50  // lines of the security log
	sandboxWait  = 4 * time.Second
	buildLines   = 12 // of a running build on the page
	maxToolField = 256 << 10
)

// Tools is the Tools page: what Ash may do, and what it has done. Parts that are nil are left out.
type Tools struct {
	*Frame
	Runs     RunReader
	Box      Toolbox        // nil: no tools
	Policy   Rulebook       // nil: no switches and no rules
	Sandbox  SandboxReader  // nil: no sandbox
	Security SecurityReader // nil: no log
	Config   Config         // nil: folders cannot be changed
	Trier    Trier          // nil: nothing can be run by hand
	Halter   Halter
	Memory   *Memory // nil: the inbox has no proposals

	build imageBuild
}

// Toolbox knows the tools. Its place is package tool.
type Toolbox interface {
	Tools() []tool.Tool
	// Why says why a tool cannot be used in a thread now; nil when it can.
	Why(ctx context.Context, t agent.Thread, of tool.Tool) error
}

// Rulebook keeps the person's standing words. Its place is package policy.
type Rulebook interface {
	Rules(ctx context.Context) ([]policy.Rule, error)
	Set(ctx context.Context, r policy.Rule) (policy.Rule, error)
	Revoke(ctx context.Context, id agent.ID) error
}

// SandboxReader tells of the sandbox, and builds its image.
type SandboxReader interface {
	Status(ctx context.Context) sandbox.Status
	// Build tells its progress in lines. It takes minutes.
	Build(ctx context.Context, progress func(line string)) error
}

// SecurityReader reads the security log, newest first.
type SecurityReader interface {
	SecurityEvents(ctx context.Context, limit int) ([]policy.SecurityEvent, error)
}

// Trier runs a tool by hand: it proposes the call in a conversation of its own, where it is judged like any other.
type Trier interface {
	Try(ctx context.Context, tool string, arguments json.RawMessage) (thread agent.ID, err error)
}

// Halter is the kill switch.
type Halter interface {
	StopAll(ctx context.Context) error
}

// RunReader reads what tools were asked to do.
type RunReader interface {
	Runs(ctx context.Context, f agent.RunFilter) (agent.RunPage, error)
	ToolHistory(ctx context.Context, tool string, n int) (agent.ToolHistory, error)
}

// Show answers GET /tools; ?thread= shows the switches of one conversation.
func (h *Tools) Show(c echo.Context) error {
	ctx := c.Request().Context()
	frame, err := h.plain(c, "Tools", layouts.Tools)
	if err != nil {
		return err
	}
	page := pages.Tools{Page: frame, Try: h.Trier != nil, Files: h.Config != nil, Folders: h.folders(c)}
	if page.Thread, err = h.scope(c, c.QueryParam("thread")); err != nil {
		return err
	}
	rules, err := h.rules(ctx)
	if err != nil {
		return err
	}
	if page.Tools, err = h.tools(c, page.Thread, rules); err != nil {
		return err
	}
	if page.Rules, err = h.presentRules(c, rules); err != nil {
		return err
	}
	if page.Log, err = h.securityLog(ctx); err != nil {
		return err
	}
	if h.Sandbox != nil {
		s, err := h.sandbox(c)
		if err != nil {
			return err
		}
		page.Sandbox = &s
	}
	if c.QueryParam("stopped") == "1" {
		page.Notices = append(page.Notices, stoppedNotice())
	}
	return render(c, http.StatusOK, page.Show())
}

// scope reads the conversation whose switches are meant; nil for those of the house.
func (h *Tools) scope(c echo.Context, thread string) (*pages.ToolThread, error) {
	if thread == "" {
		return nil, nil
	}
	id, err := agent.ParseID(thread)
	if err != nil {
		return nil, err
	}
	t, err := h.Reader.Summary(c.Request().Context(), id)
	if err == nil && !t.Deleted.IsZero() {
		err = agent.Errorf(agent.CodeNotFound, "This conversation was deleted.")
	}
	if err != nil {
		return nil, err
	}
	return &pages.ToolThread{ID: t.ID, Title: titled(t.Title)}, nil
}

func titled(title string) string {
	if title == "" {
		return "New conversation"
	}
	return title
}

func (h *Tools) rules(ctx context.Context) ([]policy.Rule, error) {
	if h.Policy == nil {
		return nil, nil
	}
	return h.Policy.Rules(ctx)
}

// tools presents every tool, those that can be used first.
func (h *Tools) tools(c echo.Context, scope *pages.ToolThread, rules []policy.Rule) ([]pages.Tool, error) {
	if h.Box == nil {
		return nil, nil
	}
	var out []pages.Tool
	for _, t := range h.Box.Tools() {
		shown, err := h.tool(c, t, scope, rules)
		if err != nil {
			return nil, err
		}
		out = append(out, shown)
	}
	slices.SortStableFunc(out, func(a, b pages.Tool) int {
		switch {
		case a.Problem == "" && b.Problem != "":
			return -1
		case a.Problem != "" && b.Problem == "":
			return 1
		}
		return 0
	})
	return out, nil
}

func (h *Tools) tool(c echo.Context, t tool.Tool, scope *pages.ToolThread, rules []policy.Rule) (pages.Tool, error) {
	ctx, d := c.Request().Context(), t.Definition()
	out := pages.Tool{
		Name: d.Name, Title: d.Title, About: d.About, Kind: d.Effect,
		Arguments: schemaArguments(t.Schema()), Switch: h.toolSwitch(c, d, scope, rules),
	}
	if err := h.Box.Why(ctx, agent.Thread{}, t); err != nil {
		out.Problem = agent.PublicOf(err)
	}
	history, err := h.Runs.ToolHistory(ctx, d.Name, historyRuns)
	if err != nil {
		return out, err
	}
	h.howItWent(&out, history)
	last, err := h.Runs.Runs(ctx, agent.RunFilter{Tool: d.Name, Limit: lastRuns})
	if err != nil {
		return out, err
	}
	for _, call := range last.Calls {
		out.Last = append(out.Last, h.run(call))
	}
	return out, nil
}

// toolSwitch presents the policy of a whole tool.
func (h *Tools) toolSwitch(c echo.Context, d tool.Definition, scope *pages.ToolThread, rules []policy.Rule) pages.Switch {
	s := pages.Switch{Tool: d.Name, Usual: usual(d.Effect), CSRF: Token(c)}
	if scope != nil {
		s.Thread = scope.ID
	}
	if i := slices.IndexFunc(rules, wholeTool(d.Name, s.Thread)); i >= 0 {
		s.Verdict = rules[i].Verdict
	}
	inForce := s.Verdict
	if inForce == "" && s.Thread != "" {
		if i := slices.IndexFunc(rules, wholeTool(d.Name, "")); i >= 0 {
			inForce = rules[i].Verdict
		}
	}
	if inForce == "" {
		inForce = s.Usual
	}
	s.Means = means(d.Effect, inForce)
	return s
}

// wholeTool finds the rule that is the switch of a tool.
func wholeTool(name string, thread agent.ID) func(policy.Rule) bool {
	return func(r policy.Rule) bool { return r.Tool == name && r.Match == "" && r.Thread == thread }
}

// Switch answers POST /tools/{tool}/policy.
func (h *Tools) Switch(c echo.Context) error {
	t, err := h.find(c)
	if err != nil {
		return err
	}
	if h.Policy == nil {
		return agent.Errorf(agent.CodeUnavailable, "There are no rules in this Ash.")
	}
	word, err := line(c, "verdict", 20)
	if err != nil {
		return err
	}
	thread, err := line(c, "thread", 64)
	if err != nil {
		return err
	}
	scope, err := h.scope(c, thread)
	if err != nil {
		return err
	}
	if err := h.set(c.Request().Context(), t.Definition(), scope, agent.Verdict(word)); err != nil {
		return err
	}
	if !ByHTMX(c) {
		to := "/tools"
		if scope != nil {
			to += "?thread=" + string(scope.ID)
		}
		return see(c, to+"#tool-"+t.Definition().Name)
	}
	rules, err := h.rules(c.Request().Context())
	if err != nil {
		return err
	}
	return render(c, http.StatusOK, pages.ToolSwitch(h.toolSwitch(c, t.Definition(), scope, rules)))
}

// set makes the switch of a tool say verdict; what holds anyway needs no rule.
func (h *Tools) set(ctx context.Context, d tool.Definition, scope *pages.ToolThread, verdict agent.Verdict) error {
	var thread agent.ID
	if scope != nil {
		thread = scope.ID
	}
	if verdict != "" && (scope != nil || verdict != usual(d.Effect)) {
		_, err := h.Policy.Set(ctx, policy.Rule{Tool: d.Name, Verdict: verdict, Thread: thread})
		return err
	}
	rules, err := h.Policy.Rules(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(rules, wholeTool(d.Name, thread))
	if i < 0 {
		return nil
	}
	if err := h.Policy.Revoke(ctx, rules[i].ID); agent.CodeOf(err) != agent.CodeNotFound {
		return err
	}
	return nil // another page was faster
}

// find returns the tool in the address.
func (h *Tools) find(c echo.Context) (tool.Tool, error) {
	if h.Box != nil {
		for _, t := range h.Box.Tools() {
			if t.Definition().Name == c.Param("tool") {
				return t, nil
			}
		}
	}
	return nil, agent.Errorf(agent.CodeNotFound, "There is no tool of that name.")
}

// Revoke answers POST /tools/rules/{rule}/revoke.
func (h *Tools) Revoke(c echo.Context) error {
	id, err := param(c, "rule")
	if err != nil {
		return err
	}
	if h.Policy == nil {
		return agent.Errorf(agent.CodeNotFound, "There is no such rule.")
	}
	if err := h.Policy.Revoke(c.Request().Context(), id); err != nil {
		return err
	}
	if !ByHTMX(c) {
		return see(c, "/tools#rules")
	}
	return render(c, http.StatusOK,
		components.StreamPatch("rule-"+components.Short(id), components.SwapDelete, ""),
		components.StreamNotice(components.Notice{Kind: components.NoticeOK, Text: "Taken back. Ash asks again from now on."}))
}

// presentRules presents the narrow rules, the newest first; the switches of whole tools stand with their tools, but for those of
// conversations.
func (h *Tools) presentRules(c echo.Context, rules []policy.Rule) ([]pages.Rule, error) {
	titles := map[string]string{}
	if h.Box != nil {
		for _, t := range h.Box.Tools() {
			titles[t.Definition().Name] = t.Definition().Title
		}
	}
	var out []pages.Rule
	for _, r := range slices.Backward(rules) {
		if r.Match == "" && r.Thread == "" {
			continue
		}
		shown := pages.Rule{
			ID: r.ID, Verdict: r.Verdict, What: visible(policy.Describe(r)), Thread: r.Thread, Sources: r.Sources,
			Uses: r.Uses, Created: r.Created.In(h.Zone), CSRF: Token(c),
		}
		if !r.Used.IsZero() {
			shown.Used = r.Used.In(h.Zone)
		}
		if r.Tool != policy.AnyTool {
			if shown.Tool = titles[r.Tool]; shown.Tool == "" {
				shown.Tool = r.Tool
			}
		}
		if r.Thread != "" {
			t, err := h.Reader.Summary(c.Request().Context(), r.Thread)
			if agent.CodeOf(err) == agent.CodeNotFound {
				continue // it went with its conversation
			}
			if err != nil {
				return nil, err
			}
			shown.Heading = titled(t.Title)
		}
		out = append(out, shown)
	}
	return out, nil
}

// Try answers POST /tools/{tool}/try: the call is proposed in a conversation of its own.
func (h *Tools) Try(c echo.Context) error {
	t, err := h.find(c)
	if err != nil {
		return err
	}
	if h.Trier == nil {
		return agent.Errorf(agent.CodeUnavailable, "Tools cannot be run by hand here.")
	}
	arguments, err := tried(c, schemaArguments(t.Schema()))
	if err != nil {
		return err
	}
	thread, err := h.Trier.Try(c.Request().Context(), t.Definition().Name, arguments)
	if err != nil {
		return err
	}
	return see(c, chatPath(thread))
}

// Halt answers POST /stop: every turn, command and helper ends.
func (h *Tools) Halt(c echo.Context) error {
	if err := h.Halter.StopAll(c.Request().Context()); err != nil {
		return err
	}
	if !ByHTMX(c) {
		return see(c, "/tools?stopped=1")
	}
	return render(c, http.StatusOK, components.StreamNotice(stoppedNotice()))
}

func stoppedNotice() components.Notice {
	return components.Notice{Kind: components.NoticeOK, Text: "Everything is stopped: no turn, command or helper runs. What waited for you still waits."}
}
