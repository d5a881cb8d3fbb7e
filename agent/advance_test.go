package agent

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestNextStep(t *testing.T) {
	reply := func(state MessageState, calls ...CallState) Message {
		m := Message{ID: "reply", Role: RoleAssistant, State: state}
		for _, s := range calls {
			m.Calls = append(m.Calls, ToolCall{State: s})
		}
		return m
	}
	tests := []struct {
		name string
		tail Tail
		want step
	}{
		{"nothing was said", Tail{}, stepRest},
		{"the person's word is last", Tail{Head: Message{ID: "m", Role: RoleUser, State: MessageComplete}}, stepReply},
		{"a finished reply", Tail{Head: reply(MessageComplete)}, stepRest},
		{"an open reply belongs to whoever writes it", Tail{Head: reply(MessageOpen)}, stepRest},
		{"a cut reply rests", Tail{Head: reply(MessageCut)}, stepRest},
		{"a cut reply the turn was begun on goes on", Tail{Turn: Turn{Trigger: "reply"}, Head: reply(MessageCut)}, stepContinue},
		{"a finished reply the turn was begun on goes on", Tail{Turn: Turn{Trigger: "reply"}, Head: reply(MessageComplete)}, stepContinue},
		{"a call is proposed", Tail{Head: reply(MessageComplete, CallProposed)}, stepTools},
		{"one waits, one is proposed", Tail{Head: reply(MessageComplete, CallWaiting, CallProposed)}, stepTools},
		{"one waits, one was approved", Tail{Head: reply(MessageComplete, CallWaiting, CallApproved)}, stepTools},
		{"one waits, one is finished", Tail{Head: reply(MessageComplete, CallFinished, CallWaiting)}, stepWait},
		{"all have ended", Tail{Head: reply(MessageComplete, CallFinished, CallDenied, CallUnknown)}, stepReply},
		{"one was started by a process that died", Tail{Head: reply(MessageComplete, CallFinished, CallStarted)}, stepRest},
		{"calls of a cut reply are never run", Tail{Head: reply(MessageCut, CallCancelled)}, stepRest},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := nextStep(tt.tail); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestOverBounds(t *testing.T) {
	b := Bounds{Rounds: 3, Wall: time.Minute, Tokens: 1000, Cost: 5_000_000}
	tests := []struct {
		name  string
		turn  Turn
		b     Bounds
		spent time.Duration
		over  bool
	}{
		{"fresh", Turn{}, b, 0, false},
		{"rounds", Turn{Rounds: 3}, b, 0, true},
		{"tokens", Turn{Usage: Usage{Input: 900, Output: 100}}, b, 0, true},
		{"cost", Turn{Usage: Usage{Cost: 5_000_000}}, b, 0, true},
		{"time", Turn{}, b, time.Minute, true},
		{"just below", Turn{Rounds: 2, Usage: Usage{Input: 999, Cost: 4_999_999}}, b, time.Minute - 1, false},
		{"no bounds", Turn{Rounds: 1e6, Usage: Usage{Input: 1e9, Cost: 1e12}}, Bounds{}, time.Hour, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := overBounds(tt.turn, tt.b, tt.spent); (got != nil) != tt.over {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestFirstWords(t *testing.T) {
	tests := []struct {
		text  string
		limit int
		want  string
	}{
		{"short", 10, "short"},
		{"  two\n\nlines\twith   space ", 60, "two lines with space"},
		{"Find us a quiet place in Lisbon for March", 20, "Find us a quiet…"},
		{"unbreakableunbreakable", 10, "unbreakab…"},
		{"日本語の長い文章です", 5, "日本語の…"},
		{"", 10, ""},
		{"cut here, please", 11, "cut here…"},
	}
	for _, tt := range tests {
		if got := FirstWords(tt.text, tt.limit); got != tt.want {
			t.Errorf("FirstWords(%q, %d) = %q, want %q", tt.text, tt.limit, got, tt.want)
		}
	}
}

func FuzzClip(f *testing.F) {
	f.Add("héllo", 2)
	f.Add("日本", 4)
	f.Fuzz(func(t *testing.T, s string, n int) {
		if n < 0 || !utf8.ValidString(s) {
			return
		}
		got := Clip(s, n)
		if len(got) > n || !strings.HasPrefix(s, got) || !utf8.ValidString(got) || (len(s) <= n && got != s) {
			t.Errorf("Clip(%q, %d) = %q", s, n, got)
		}
	})
}

func TestCost(t *testing.T) {
	p := Price{Input: 3_000_000, Output: 15_000_000, CacheRead: 300_000, CacheWrite: 3_750_000}
	tests := []struct {
		u    Usage
		want MicroDollars
	}{
		{Usage{}, 0},
		{Usage{Input: 1_000_000, Output: 1_000_000}, 18_000_000},
		{Usage{Input: 1000, CacheRead: 800, CacheWrite: 100, Output: 10}, 300 + 150 + 240 + 375},
		{Usage{Input: 1, CacheRead: 5}, 2}, // more cached than sent: no negative price
	}
	for _, tt := range tests {
		if got := p.Cost(tt.u); got != tt.want {
			t.Errorf("Cost(%+v) = %d, want %d", tt.u, got, tt.want)
		}
	}
}

func TestLabelsAreASet(t *testing.T) {
	a := Label{Source: "a.example", Kind: LabelUntrusted}
	b := Label{Source: "b", Kind: LabelPrivate, Private: true}
	got := Labels{b}.Union(Labels{a, b}, nil, Labels{a})
	if len(got) != 2 || got[0] != a || got[1] != b {
		t.Errorf("got %v", got)
	}
	if Labels(nil).Union(nil, Labels{}) != nil {
		t.Error("the union of nothing is not nil")
	}
	if !got.Untrusted() || (Labels{b}).Untrusted() {
		t.Error("untrusted is told wrongly")
	}
}

func FuzzParseEventID(f *testing.F) {
	f.Add("abc-12")
	f.Add("-1")
	f.Add("a-b-3")
	f.Fuzz(func(t *testing.T, s string) {
		id := ParseEventID(s)
		if id == (EventID{}) {
			return
		}
		if again := ParseEventID(id.String()); again != id {
			t.Errorf("%q: %v became %v", s, id, again)
		}
	})
}
