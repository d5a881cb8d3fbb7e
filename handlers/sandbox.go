package handlers

import (
	"context"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/sandbox"
	"ash/views/components"
	"ash/views/pages"
)

// sandbox presents where commands run. An engine that does not answer must not hold up the page.
func (h *Tools) sandbox(c echo.Context) (pages.Sandbox, error) {
	ctx, done := context.WithTimeout(c.Request().Context(), sandboxWait)
	defer done()
	st := h.Sandbox.Status(ctx)
	out := pages.Sandbox{Ready: st.Ready, Problem: st.Problem, Notes: st.Notes, CSRF: Token(c)}
	out.Engine = engineWords(st)
	add := func(name, value string) {
		if value != "" {
			out.Facts = append(out.Facts, pages.Fact{Name: name, Value: value})
		}
	}
	if st.Ready {
		add("runtime", st.Runtime)
		add("runs as", st.User)
		if st.Cgroup != "" {
			add("cgroup", "version "+st.Cgroup)
		}
		network := "off, unless you approve a command with it; then through Ash's filter only"
		if !st.Network {
			network = "never: " + st.NoNetwork
		}
		add("network", network)
	}
	for _, l := range st.Limits {
		out.Limits = append(out.Limits, pages.Limit{Name: l.Name, Value: l.Value, By: l.By})
	}
	for _, k := range st.Containers {
		shown := pages.Container{ID: k.ID, Thread: k.Thread, Use: k.Use, State: k.State, Since: k.Created.In(h.Zone).Format("15:04")}
		if k.Busy {
			shown.State = "busy"
		}
		if k.Thread != "" {
			t, err := h.Reader.Summary(c.Request().Context(), k.Thread)
			switch {
			case err == nil:
				shown.Heading = titled(t.Title)
			case agent.CodeOf(err) == agent.CodeNotFound:
				shown.Thread = ""
			default:
				return out, err
			}
		}
		out.Containers = append(out.Containers, shown)
	}
	if b := h.presentBuild(c, st.Image); b.Tag != "" {
		out.Build = &b
	}
	return out, nil
}

// engineWords names what runs commands.
func engineWords(st sandbox.Status) string {
	if name := strings.TrimSpace(st.Name + " " + st.Version); name != "" {
		return name
	}
	return st.Engine
}

// presentBuild presents the image and its making.
func (h *Tools) presentBuild(c echo.Context, i sandbox.Image) pages.Build {
	b := h.build.look()
	out := pages.Build{Tag: i.Tag, Running: b.running || i.Building, Lines: b.lines, Problem: b.problem, CSRF: Token(c)}
	if i.Built {
		out.Built = "built " + i.Created.In(h.Zone).Format("2 January 2006, 15:04") + ", " + components.Bytes(i.Size)
	}
	return out
}

// Build answers POST /tools/sandbox/build: it begins, and the page asks how far it is.
func (h *Tools) Build(c echo.Context) error {
	if h.Sandbox == nil {
		return agent.Errorf(agent.CodeUnavailable, "This Ash has no sandbox.")
	}
	h.build.start(h.Sandbox.Build)
	if !ByHTMX(c) {
		return see(c, "/tools#sandbox")
	}
	return h.Building(c)
}

// Building answers GET /tools/sandbox/build: how far the build is.
func (h *Tools) Building(c echo.Context) error {
	if h.Sandbox == nil {
		return agent.Errorf(agent.CodeUnavailable, "This Ash has no sandbox.")
	}
	if !ByHTMX(c) {
		return see(c, "/tools#sandbox")
	}
	ctx, done := context.WithTimeout(c.Request().Context(), sandboxWait)
	defer done()
	return render(c, http.StatusOK, pages.BuildPanel(h.presentBuild(c, h.Sandbox.Status(ctx).Image)))
}

// Close ends a build that runs, and waits for it.
func (h *Tools) Close() { h.build.stop() }
