package lexis

import "strings"

// Marks are what can be seen of a text without understanding it.
type Marks int

// The marks of a text.
const (
	Asks      Marks = 1 << iota // it ends in a question
	OnlyAsk                     // nothing but a question
	HasTime                     // it says when: "last Friday", "in May", "two years ago"
	HasNumber                   // it counts something
	First                       // its speaker talks of themselves: "I", "my", "we"
	Refers                      // it begins with what was named before: "she", "it"
	HasPlace                    // it names something after "in", "at", "from"
)

// MarksOf looks at a text.
func MarksOf(text string) Marks { return marksOf(text, Words(text)) }

// marksOf is MarksOf for a text whose words are known.
func marksOf(text string, words []Word) Marks {
	var m Marks
	body := strings.TrimSpace(text)
	if i := strings.LastIndexAny(body, "?？"); i >= 0 && len(body)-i < 12 {
		m |= Asks
		if !strings.ContainsAny(body[:i], ".!。！") || strings.IndexAny(body, ".!。！") > i {
			m |= OnlyAsk
		}
	}
	for i, w := range words {
		switch w.Text {
		case "i", "my", "me", "mine", "we", "our", "us", "im", "ive", "ich", "mein", "meine", "wir", "unser", "unsere":
			m |= First
		}
		if i < 6 && refers(w.Text) {
			m |= Refers
		}
		if m&HasPlace == 0 && places(words, i) {
			m |= HasPlace
		}
		if m&HasTime == 0 && says(words, i) {
			m |= HasTime
		}
		if m&HasNumber == 0 && counts(w.Text) {
			m |= HasNumber
		}
	}
	return m
}

// refers reports whether a word stands for what was named before.
func refers(w string) bool {
	switch w {
	case "he", "she", "they", "him", "her", "his", "them", "their", "it", "that", "those", "er", "sie", "es", "ihn", "ihm", "ihr", "ihre", "das":
		return true
	}
	return false
}

// places reports whether the word at i is a name after a word that says where.
func places(words []Word, i int) bool {
	w := words[i]
	if i == 0 || len(w.Raw) < 2 || w.Stop || w.Raw[0] < 'A' || w.Raw[0] > 'Z' || monthOf(w.Text) != 0 || weekdayOf(w.Text) >= 0 {
		return false
	}
	switch words[i-1].Text {
	case "in", "at", "from", "near", "to", "aus", "nach", "bei":
		return true
	}
	return false
}

// says reports whether the word at i says when.
func says(words []Word, i int) bool {
	w := words[i].Text
	switch w {
	case "yesterday", "tomorrow", "tonight", "ago", "weekend", "weekends", "since", "recently", "soon", "gestern", "morgen", "vorgestern", "wochenende", "seit", "kurzlich":
		return true
	case "today", "heute":
		return true
	case "last", "next", "past", "previous", "this", "letzte", "letzten", "nachste", "nachsten":
		return unitWord(text(words, i+1)) || unitWord(text(words, i+2))
	case "year", "years", "month", "months", "week", "weeks":
		return true
	}
	if weekdayOf(w) >= 0 {
		return true
	}
	if monthOf(w) != 0 {
		return len(w) > 3 && w != "march" || isMonth(words[i])
	}
	return len(w) == 4 && digits(w) && (strings.HasPrefix(w, "19") || strings.HasPrefix(w, "20"))
}

func unitWord(w string) bool {
	switch w {
	case "day", "days", "night", "week", "weeks", "month", "months", "year", "years", "weekend", "morning", "evening", "afternoon",
		"summer", "winter", "spring", "fall", "autumn", "time", "woche", "monat", "jahr", "sommer", "herbst", "fruhling":
		return true
	}
	return weekdayOf(w) >= 0 || monthOf(w) != 0
}

func counts(w string) bool {
	if n, ok := number(w); ok {
		return n > 1 || digits(w)
	}
	switch w {
	case "once", "twice", "dozen", "hundred", "thousand", "couple", "several", "zweimal", "hundert":
		return true
	}
	return digits(w)
}
