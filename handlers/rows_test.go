package handlers

import (
	"context"
	"strings"
	"testing"

	"ash/agent"
	"ash/views/components"
)

func TestRowIsDrawnOncePerEvent(t *testing.T) {
	var d drawnRows
	at := agent.EventID{Boot: "b", Seq: 1}
	draw := func(at agent.EventID, title string) string {
		t.Helper()
		got, err := d.draw(t.Context(), at, components.ThreadRow{ID: "thread", Title: title})
		if err != nil {
			t.Fatal(err)
		}
		return string(got)
	}
	first := draw(at, "Old name")
	if !strings.Contains(first, "Old name") || !strings.Contains(first, "hx-upsert") {
		t.Errorf("drawn: %s", first)
	}
	if again := draw(at, "not looked at"); again != first {
		t.Errorf("the same event was drawn anew: %s", again)
	}
	at.Seq++
	if next := draw(at, "New name"); !strings.Contains(next, "New name") {
		t.Errorf("a newer event shows what was: %s", next)
	}
}

func TestRowsRememberedAreBounded(t *testing.T) {
	var d drawnRows
	for range 3 * maxDrawn {
		if _, err := d.draw(t.Context(), agent.EventID{Boot: "b", Seq: 1}, components.ThreadRow{ID: agent.NewID()}); err != nil {
			t.Fatal(err)
		}
	}
	if len(d.rows) > maxDrawn {
		t.Errorf("%d rows are remembered", len(d.rows))
	}
}

func TestRowOfAReaderThatLeftIsNotRemembered(t *testing.T) {
	var d drawnRows
	ctx, leave := context.WithCancel(t.Context())
	leave()
	if _, err := d.draw(ctx, agent.EventID{Boot: "b", Seq: 1}, components.ThreadRow{ID: "thread"}); err == nil {
		t.Error("a row was drawn for nobody")
	}
	if len(d.rows) != 0 {
		t.Error("what was not drawn is remembered")
	}
}
