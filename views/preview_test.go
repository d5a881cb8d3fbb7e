package views_test

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"ash/static"
	"ash/views/components"
	"ash/views/pages"
)

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; manifest-src 'self'"

// TestServe serves the fixtures for looking at them: ASH_PREVIEW=127.0.0.1:9000 go test -run TestServe ./views
func TestServe(t *testing.T) {
	address := os.Getenv("ASH_PREVIEW")
	if address == "" {
		t.Skip("set ASH_PREVIEW to an address to look at the pages")
	}
	server := &http.Server{Addr: address, Handler: preview(), ReadHeaderTimeout: time.Second}
	time.AfterFunc(30*time.Minute, func() { _ = server.Close() })
	if err := server.ListenAndServe(); err != http.ErrServerClosed {
		t.Fatal(err)
	}
}

// preview serves each fixture under its name; ?theme= forces a theme.
func preview() http.Handler {
	mux := http.NewServeMux()
	mux.Handle(static.Prefix, static.Handler())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {})
	mux.HandleFunc("GET /setup/found", func(w http.ResponseWriter, r *http.Request) {
		_ = setup(false).Offers().Render(r.Context(), w)
	})
	mux.HandleFunc("GET /tools/sandbox/build", func(w http.ResponseWriter, r *http.Request) {
		_ = pages.BuildPanel(*toolsWithout().Sandbox.Build).Render(r.Context(), w)
	})
	mux.HandleFunc("GET /palette", func(w http.ResponseWriter, r *http.Request) {
		_ = components.PaletteResults(r.FormValue("q"), palette(), "token").Render(r.Context(), w)
	})
	mux.HandleFunc("GET /{name}", func(w http.ResponseWriter, r *http.Request) {
		c, ok := fixtures()[r.PathValue("name")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		var b strings.Builder
		if err := c.Render(r.Context(), &b); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		html := b.String()
		if theme := r.FormValue("theme"); theme != "" {
			html = strings.Replace(html, `<html lang="en"`, `<html lang="en" data-theme="`+theme+`"`, 1)
		}
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(html))
	})
	return mux
}

func palette() []components.PaletteGroup {
	return []components.PaletteGroup{
		{Title: "Go to", Items: []components.PaletteItem{{Icon: components.IconMessageCircle, Title: "Chat", URL: "/chat"}, {Icon: components.IconBrain, Title: "Memory", URL: "/memory"}, {Icon: components.IconSettings, Title: "Settings", URL: "/settings"}, {Icon: components.IconWrench, Title: "Settings: Tools and sandbox", Hint: "limits, folders, search, commands", URL: "/settings/tools"}}},
		{Title: "Conversations", Items: []components.PaletteItem{{Icon: components.IconMessageCircle, Title: "Lisbon in March", Hint: "today", URL: "/chat/" + string(thread)}}},
		{Title: "Commands", Items: []components.PaletteItem{{Icon: components.IconSquarePen, Title: "New conversation", URL: "/chat/new"}, {Icon: components.IconMoon, Title: "Dark theme", URL: "/settings/theme", Post: true, Name: "theme", Value: "dark"}}},
	}
}
