package lexis

import (
	"strconv"
	"time"
)

// Span is a stretch of time that a question names.
type Span struct {
	From, To time.Time  // To is the first moment after it; zero with Month
	Month    time.Month // a month of any year, when no year was said
	Words    [2]int     // the words of the question that say it: first, and one after the last
}

// Holds reports whether t lies in the span, give or take slack on either side.
func (s Span) Holds(t time.Time, slack time.Duration) bool {
	if s.Month != 0 {
		return t.Add(slack).Month() == s.Month || t.Add(-slack).Month() == s.Month || t.Month() == s.Month
	}
	return !t.Before(s.From.Add(-slack)) && t.Before(s.To.Add(slack))
}

// Spans finds what a question says about time, relative to now.
func Spans(words []Word, now time.Time) []Span {
	var list []Span
	for i := 0; i < len(words); {
		span, n := spanAt(words[i:], now.UTC())
		if n == 0 {
			i++
			continue
		}
		span.Words = [2]int{i, i + n}
		list = append(list, span)
		i += n
	}
	return list
}

// spanAt reads a span at the beginning of words, and says of how many of them it is; 0 for none.
func spanAt(words []Word, now time.Time) (Span, int) {
	for _, read := range []func([]Word, time.Time) (Span, int){relative, dated, ago, years} {
		if span, n := read(words, now); n > 0 {
			return span, n
		}
	}
	return Span{}, 0
}

func text(words []Word, i int) string {
	if i < len(words) {
		return words[i].Text
	}
	return ""
}

func midnight(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}

func days(from time.Time, n int) Span { return Span{From: from, To: from.AddDate(0, 0, n)} }

// relative reads "yesterday", "this week", "last spring", "letzten Freitag".
func relative(words []Word, now time.Time) (Span, int) {
	today := midnight(now)
	switch text(words, 0) {
	case "today", "tonight", "heute":
		return days(today, 1), 1
	case "yesterday", "gestern":
		return days(today.AddDate(0, 0, -1), 1), 1
	case "vorgestern":
		return days(today.AddDate(0, 0, -2), 1), 1
	case "last", "past", "previous", "letzte", "letzten", "letztes", "letzter", "vorige", "vorigen":
		return unit(text(words, 1), today, -1)
	case "this", "diese", "diesen", "dieses", "dieser":
		return unit(text(words, 1), today, 0)
	}
	return Span{}, 0
}

// unit is the stretch named by a word, by so many before the current one.
func unit(word string, today time.Time, by int) (Span, int) {
	switch word {
	case "day", "tag":
		return days(today.AddDate(0, 0, by), 1), 2
	case "week", "woche":
		monday := today.AddDate(0, 0, -(int(today.Weekday())+6)%7)
		return days(monday.AddDate(0, 0, 7*by), 7), 2
	case "weekend", "wochenende":
		monday := today.AddDate(0, 0, -(int(today.Weekday())+6)%7)
		return days(monday.AddDate(0, 0, 7*by+5), 2), 2
	case "month", "monat":
		from := time.Date(today.Year(), today.Month()+time.Month(by), 1, 0, 0, 0, 0, time.UTC)
		return Span{From: from, To: from.AddDate(0, 1, 0)}, 2
	case "year", "jahr":
		return year(today.Year() + by), 2
	}
	if w := weekdayOf(word); w >= 0 {
		back := (int(today.Weekday()-w) + 7) % 7
		if back == 0 && by < 0 {
			back = 7
		}
		return days(today.AddDate(0, 0, -back), 1), 2
	}
	if s, ok := season(word, today.Year()); ok {
		if by < 0 && !s.To.Before(today) {
			s, _ = season(word, today.Year()-1)
		}
		return s, 2
	}
	if m := monthOf(word); m != 0 {
		y := today.Year()
		if m > today.Month() || (by < 0 && m == today.Month()) {
			y--
		}
		return month(y, m), 2
	}
	return Span{}, 0
}

func year(y int) Span {
	from := time.Date(y, time.January, 1, 0, 0, 0, 0, time.UTC)
	return Span{From: from, To: from.AddDate(1, 0, 0)}
}

func month(y int, m time.Month) Span {
	from := time.Date(y, m, 1, 0, 0, 0, 0, time.UTC)
	return Span{From: from, To: from.AddDate(0, 1, 0)}
}

// season is one of a year, of the northern half of the world; winter is the one that ends in that year.
func season(word string, y int) (Span, bool) {
	var first time.Month
	switch word {
	case "spring", "fruhling", "fruhjahr":
		first = time.March
	case "summer", "sommer":
		first = time.June
	case "autumn", "fall", "herbst":
		first = time.September
	case "winter":
		first = time.December
		y--
	default:
		return Span{}, false
	}
	from := time.Date(y, first, 1, 0, 0, 0, 0, time.UTC)
	return Span{From: from, To: from.AddDate(0, 3, 0)}, true
}

// dated reads "8 May 2023", "May 8, 2023", "May 2023", "summer of 2022", "in May".
func dated(words []Word, _ time.Time) (Span, int) {
	at, day := 0, 0
	if n, ok := number(text(words, 0)); ok && n >= 1 && n <= 31 {
		day, at = n, 1
		if text(words, at) == "of" {
			at++
		}
	}
	name := text(words, at)
	m := monthOf(name)
	if m == 0 {
		return seasonOf(words)
	}
	if at == 0 && (name == "may" || name == "mar" || name == "march" || len(name) == 3) && !isMonth(words[0]) {
		return Span{}, 0
	}
	at++
	if day == 0 {
		if n, ok := number(text(words, at)); ok && n >= 1 && n <= 31 {
			day = n
			at++
		}
	}
	y, ok := number(text(words, at))
	switch {
	case ok && plausible(y):
		at++
	case text(words, at) == "of":
		if y, ok = number(text(words, at+1)); ok && plausible(y) {
			at += 2
		}
	}
	switch {
	case !plausible(y):
		return Span{Month: m}, at
	case day > 0:
		return days(time.Date(y, m, day, 0, 0, 0, 0, time.UTC), 1), at
	}
	return month(y, m), at
}

// isMonth tells the month from the verb: it has a capital.
func isMonth(w Word) bool { return w.Raw != "" && w.Raw[0] >= 'A' && w.Raw[0] <= 'Z' }

// seasonOf reads "summer of 2022" and "spring 2023".
func seasonOf(words []Word) (Span, int) {
	at := 1
	if text(words, at) == "of" {
		at++
	}
	y, ok := number(text(words, at))
	if !ok || !plausible(y) {
		return Span{}, 0
	}
	s, ok := season(text(words, 0), y)
	if !ok {
		return Span{}, 0
	}
	return s, at + 1
}

// ago reads "three weeks ago", "vor drei Wochen".
func ago(words []Word, now time.Time) (Span, int) {
	first, unitAt, end := 0, 1, 3
	if text(words, 0) == "vor" {
		first, unitAt = 1, 2
	} else if text(words, 2) != "ago" {
		return Span{}, 0
	}
	n, ok := number(text(words, first))
	if !ok || n > 1000 {
		return Span{}, 0
	}
	today := midnight(now)
	switch StemEnglish(text(words, unitAt)) {
	case "day", "tag", "tagen":
		return days(today.AddDate(0, 0, -n), 1), end
	case "week", "woch", "woche", "wochen":
		return days(today.AddDate(0, 0, -7*n-3), 7), end
	case "month", "monat", "monaten":
		from := today.AddDate(0, -n, -15)
		return days(from, 31), end
	case "year", "jahr", "jahren":
		return year(now.Year() - n), end
	}
	return Span{}, 0
}

// years reads a year that stands alone.
func years(words []Word, now time.Time) (Span, int) {
	y, err := strconv.Atoi(text(words, 0))
	if err != nil || y < 1950 || y > now.Year()+1 {
		return Span{}, 0
	}
	return year(y), 1
}

// spelled is a small number in words, 0 for what is none.
func spelled(s string) int {
	switch s {
	case "a", "an", "one", "ein", "einem", "einer":
		return 1
	case "two", "zwei":
		return 2
	case "three", "drei":
		return 3
	case "four", "vier":
		return 4
	case "five", "funf":
		return 5
	case "six", "sechs":
		return 6
	case "seven":
		return 7
	case "eight":
		return 8
	case "nine":
		return 9
	case "ten":
		return 10
	}
	return 0
}

// number reads digits (also "8th") and the small numbers in words.
func number(s string) (int, bool) {
	if n := spelled(s); n > 0 {
		return n, true
	}
	end := 0
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	if end == 0 || end > 4 {
		return 0, false
	}
	switch s[end:] {
	case "", "st", "nd", "rd", "th":
	default:
		return 0, false
	}
	n, err := strconv.Atoi(s[:end])
	return n, err == nil
}
