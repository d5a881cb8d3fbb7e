package handlers_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"ash/agent"
	"ash/agent/inventory"
)

// keeper is the real inventory of a house; deleting is only noted.
type keeper struct {
	inventory.Home
	house   *house
	fail    error // of an archive that has begun
	deleted int
}

func (k *keeper) Archive(ctx context.Context) (func(context.Context, io.Writer, time.Time) error, io.Closer, error) {
	db, err := k.Snapshot(ctx, k.house.store)
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context, w io.Writer, at time.Time) error {
		if k.fail != nil {
			_, _ = io.WriteString(w, "begun")
			return k.fail
		}
		return k.Export(ctx, w, db, at)
	}, db, nil
}

func (k *keeper) Delete(context.Context) error { k.deleted++; return nil }

func TestDataPage(t *testing.T) {
	h := open(t)
	h.must(os.MkdirAll(filepath.Join(h.home, "backups"), 0o700))
	for _, name := range []string{"ash-20260801T101010.000Z-schema-5-before-6.db", "ash-20260901T101010.000Z-schema-6-before-7.db"} {
		h.must(os.WriteFile(filepath.Join(h.home, "backups", name), []byte("old"), 0o600))
	}
	h.must(os.WriteFile(filepath.Join(h.home, "<b>thesis\u202e.pdf"), nil, 0o600))
	p := h.browser.Get("/settings/data").Is(200).Says("ash.db-wal").Says("thesis").Lacks("main b.thesis").Has(`form[action="/settings/data/export"]`).Has(`a[href="/settings/data/delete"]`)
	if got := p.Find("input[name=snapshot]"); got.Length() != 2 || !strings.Contains(got.First().AttrOr("value", ""), "20260901") {
		t.Errorf("snapshots: %d, the first is %q", got.Length(), got.First().AttrOr("value", ""))
	}
	if strings.Contains(p.Body, "\u202e") {
		t.Error("a name turns the line around")
	}
	for _, names := range [][]string{nil, {"../ash.db"}, {"nothing.db"}, {""}, make([]string, 1001)} {
		if got := h.browser.Post("/settings/data/snapshots", url.Values{"snapshot": names}); got.Status < 400 || got.Status >= 500 {
			t.Errorf("%d names of which the first is odd: %d", len(names), got.Status)
		}
	}
	one := url.Values{"snapshot": {"ash-20260801T101010.000Z-schema-5-before-6.db"}}
	h.browser.Post("/settings/data/snapshots", one).Is(200).Says("Delete 1 snapshot for good?") // it asks first
	if n := h.browser.Get("/settings/data").Find("input[name=snapshot]").Length(); n != 2 {
		t.Errorf("%d snapshots left before the answer", n)
	}
	one.Set("sure", "1")
	h.browser.Post("/settings/data/snapshots", one).Is(303)
	if n := h.browser.Get("/settings/data").Find("input[name=snapshot]").Length(); n != 1 {
		t.Errorf("%d snapshots left", n)
	}
	h.must(func() error { _, err := os.Stat(filepath.Join(h.home, "ash.db")); return err }())
}

func TestDeletingAsksForTheWord(t *testing.T) {
	h := open(t)
	h.browser.Get("/settings/data/delete").Is(200).Has("#delete-word").Says("delete everything")
	for _, word := range []string{"", "yes", "delete", "delete everything!", "<script>", strings.Repeat("x", 150)} {
		p := h.browser.Post("/settings/data/delete", url.Values{"word": {word}}).Is(422).Has("[role=alert]").Says("Nothing was deleted")
		if got := p.Attr("#delete-word", "value"); got != word {
			t.Errorf("typed %q, kept %q", word, got)
		}
	}
	h.browser.Post("/settings/data/delete", url.Values{"word": {strings.Repeat("x", 5000)}}).Is(422)
	if h.data.deleted != 0 {
		t.Fatal("deleted without the word")
	}
	h.browser.Post("/settings/data/delete", url.Values{"word": {" Delete  Everything "}}).Is(200).Says("Everything is deleted").Lacks("#stream").Lacks("nav")
	if h.data.deleted != 1 {
		t.Errorf("deleted %d times", h.data.deleted)
	}
}

func TestExportThatBreaksOffIsNotWhole(t *testing.T) {
	h := open(t)
	h.data.fail = agent.Errorf(agent.CodeUnavailable, "The disk went away.")
	jar, err := cookiejar.New(nil)
	h.must(err)
	client := &http.Client{Jar: jar, Timeout: 20 * time.Second}
	first, err := client.Get(h.base + "/settings/data")
	h.must(err)
	page, err := goquery.NewDocumentFromReader(first.Body)
	h.must(errors.Join(err, first.Body.Close()))
	res, err := client.PostForm(h.base+"/settings/data/export", url.Values{"_csrf": {page.Find("input[name=_csrf]").First().AttrOr("value", "")}})
	if err == nil {
		_, err = io.ReadAll(res.Body)
		if res.StatusCode != 200 {
			t.Fatalf("status %d", res.StatusCode)
		}
		_ = res.Body.Close()
	}
	if err == nil {
		t.Error("a broken archive looks whole")
	}
	h.browser.Get("/settings/data/export").Is(404)
}

func TestLicencesAreShown(t *testing.T) {
	h := open(t)
	h.browser.Get("/settings/about").Is(200).Has(`a[href="/settings/about/licences"]`).Says("less than a minute")
	h.browser.Get("/settings/about/licences").Is(200).Has(`a.to-list[href="/settings/about"]`).Says("Go standard library").Says("modernc.org/sqlite").Says("htmx.org")
	if title := h.browser.Get("/settings/about/licences").Text("main h1"); title != "Licences" {
		t.Errorf("the licences are headed %q", title)
	}
	h.browser.Get("/settings/about/licences?of=" + url.QueryEscape("github.com/labstack/echo/v4")).Is(200).Has("pre.licence").Says("MIT")
	h.browser.Get("/settings/about/licences?of=" + url.QueryEscape("<script>")).Is(404)
}
