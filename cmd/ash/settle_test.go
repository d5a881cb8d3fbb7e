package main

import (
	"context"
	"encoding/json"
	"runtime/debug"
	"testing"

	"ash/agent"
	"ash/agent/tool"
)

// What is for later waits for the end of the start, and is never begun when Ash ends before.
func TestLaterIsAfterTheStart(t *testing.T) {
	a := &app{settling: &settling{over: make(chan struct{})}}
	begun := make(chan struct{})
	a.later(t.Context(), func(context.Context) { close(begun) })
	ended, end := context.WithCancel(t.Context())
	a.later(ended, func(context.Context) { t.Error("begun although Ash ended") })
	end()
	select {
	case <-begun:
		t.Error("begun during the start")
	default:
	}
	close(a.settling.over)
	<-begun
	a.beside.Wait()
}

// A start that takes longer puts its end off, and that it is over is noticed once.
func TestTheStartEnds(t *testing.T) {
	s := newSettling()
	s.putOff()
	if !s.wait(t.Context()) {
		t.Fatal("the start never ended")
	}
	s.putOff()
	if !s.wait(t.Context()) {
		t.Error("it began again")
	}
}

// At first there is more room before anything is collected; then it is as whoever started Ash wants it.
func TestRoomOfTheStart(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	for name, c := range map[string]struct{ was, during int }{
		"usual": {100, startingHeap}, "sparing": {50, startingHeap}, "generous": {800, 800}, "none": {-1, -1},
	} {
		debug.SetGCPercent(c.was)
		usual := roomy()
		if got := debug.SetGCPercent(c.was); got != c.during {
			t.Errorf("%s: %d during the start", name, got)
		}
		debug.SetGCPercent(c.during)
		usual()
		if got := debug.SetGCPercent(c.was); got != c.was {
			t.Errorf("%s: %d after it", name, got)
		}
	}
}

// Every tool has a schema, and reads its arguments by it: both are made only when they are needed.
func TestEveryToolHasASchema(t *testing.T) {
	a := opened(t, t.TempDir())
	tools := a.hands.box.Tools()
	if len(tools) < 15 {
		t.Errorf("only %d tools", len(tools))
	}
	for _, one := range tools {
		var schema struct{ Type string }
		if err := json.Unmarshal(one.Schema(), &schema); err != nil || schema.Type != "object" {
			t.Errorf("%s: %s %v", one.Definition().Name, one.Schema(), err)
		}
		if _, err := one.Run(t.Context(), tool.Env{}, json.RawMessage(`{"no tool asks for this":1}`), nil); agent.CodeOf(err) != agent.CodeInvalid {
			t.Errorf("%s took arguments it does not have: %v", one.Definition().Name, err)
		}
	}
}
