package lexis_test

import (
	"testing"
	"time"

	"ash/agent/memory/lexis"
)

func TestSaid(t *testing.T) {
	for in, want := range map[string]string{
		"1:56 pm on 8 May, 2023": "2023-05-08T13:56:00Z", "12:09 am on 13 September, 2023": "2023-09-13T00:09:00Z",
		"2023-05-08T13:56:00+02:00": "2023-05-08T11:56:00Z", "May 8, 2023": "2023-05-08T12:00:00Z", "2023/05/20 (Sat) 02:21": "2023-05-20T02:21:00Z",
		"8.5.2023": "2023-05-08T12:00:00Z", "5/20/2023": "2023-05-20T12:00:00Z", "8. März 2023, 9:05": "2023-03-08T09:05:00Z",
		"last Tuesday": "", "8 May": "", "": "", "31 February 2023": "", "99:99 on 8 May 2023": "2023-05-08T12:00:00Z",
	} {
		got := ""
		if at, ok := lexis.Said(in); ok {
			got = at.Format(time.RFC3339)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestSpans(t *testing.T) {
	now := time.Date(2024, 5, 15, 10, 0, 0, 0, time.UTC) // a Wednesday
	for in, want := range map[string]string{
		"what did we do yesterday": "2024-05-14 2024-05-15", "in May 2023?": "2023-05-01 2023-06-01", "last spring": "2023-03-01 2023-06-01",
		"on 8 May 2023": "2023-05-08 2023-05-09", "what happened in 2022": "2022-01-01 2023-01-01", "last Friday": "2024-05-10 2024-05-11",
		"three days ago": "2024-05-12 2024-05-13", "summer of 2022": "2022-06-01 2022-09-01", "was war letzte Woche": "2024-05-06 2024-05-13",
		"last winter": "2023-12-01 2024-03-01", "may I ask": "", "who is it": "",
	} {
		got := ""
		if s := lexis.Spans(lexis.Words(in), now); len(s) > 0 {
			got = s[0].From.Format(time.DateOnly) + " " + s[0].To.Format(time.DateOnly)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestIndex(t *testing.T) {
	for in, want := range map[string]string{
		"I bought the children's books": "buy child book", "Ich habe die Häuser in München gesehen": "haus munch geseh",
		"我喜欢北京": "我喜 喜欢 欢北 北京", "don't": "", "Café": "cafe",
	} {
		if got, _, _ := lexis.Index(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestMarks(t *testing.T) {
	for in, want := range map[string]lexis.Marks{
		"She sewed it herself.": lexis.Refers, "I went to Lisbon last Friday.": lexis.First | lexis.HasTime | lexis.HasPlace,
		"How are you?": lexis.Asks | lexis.OnlyAsk, "Two dogs bark.": lexis.HasNumber, "Bread in May": lexis.HasTime, "Lisbon is lovely.": 0,
	} {
		if got := lexis.MarksOf(in); got != want {
			t.Errorf("%q: %b, want %b", in, got, want)
		}
	}
}

func TestPlain(t *testing.T) {
	for word, want := range map[string]bool{"happened": true, "done": true, "mentions": true, "passiert": false, "boat": false, "work": false} {
		if got := lexis.Plain(lexis.StemEnglish(word)); got != want {
			t.Errorf("%q: %v", word, got)
		}
	}
	if !lexis.Plain(lexis.StemGerman("passieren")) {
		t.Error("passieren says more than it does")
	}
}

func FuzzText(f *testing.F) {
	f.Add("1:56 pm on 8 May, 2023")
	f.Fuzz(func(t *testing.T, in string) {
		lexis.Said(in)
		lexis.MarksOf(in)
		lexis.Spans(lexis.Words(in), time.Unix(1e9, 0))
	})
}
