package lexis

import (
	"strconv"
	"strings"
	"time"
)

// Said reads a time as people and archives write it: RFC 3339, "1:56 pm on 8 May, 2023", "May 8, 2023 13:56",
// "2023/05/08 (Mon) 13:56", "8.5.2023". A date without a clock is noon, UTC; one without a year is none.
func Said(s string) (time.Time, bool) {
	s = strings.TrimSpace(s)
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), plausible(t.Year())
		}
	}
	if len(s) > 100 {
		return time.Time{}, false
	}
	return scan(s).time()
}

func plausible(year int) bool { return year >= 1900 && year < 2200 }

// clockDate is what a scan of a free text found; 0 or -1 is nothing.
type clockDate struct {
	year, day    int
	month        time.Month
	hour, minute int
	numbers      []int // that may be a day, a month or a year
}

// scan takes apart what looks like a date and a clock.
func scan(s string) clockDate {
	d := clockDate{hour: -1}
	lower := strings.ToLower(s)
	for i := 0; i < len(lower); {
		c := lower[i]
		switch {
		case c >= '0' && c <= '9':
			i = d.number(lower, i)
		case c >= 'a' && c <= 'z' || c >= 0x80:
			start := i
			for i < len(lower) && (lower[i] >= 'a' && lower[i] <= 'z' || lower[i] >= 0x80) {
				i++
			}
			d.word(lower[start:i])
		default:
			i++
		}
	}
	return d
}

// number reads digits at i, with the clock they may begin, and returns where it ended.
func (d *clockDate) number(s string, i int) int {
	start := i
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	n, err := strconv.Atoi(s[start:i])
	if err != nil || i-start > 4 {
		return i
	}
	switch {
	case i+2 < len(s) && s[i] == ':' && digits(s[i+1:i+3]) && d.hour < 0 && n < 24:
		d.hour, d.minute = n, int(s[i+1]-'0')*10+int(s[i+2]-'0')
		i += 3
		for i+2 < len(s) && s[i] == ':' && digits(s[i+1:i+3]) { // seconds
			i += 3
		}
	case i-start == 4:
		d.year = n
		d.numbers = append(d.numbers, n)
	default:
		d.numbers = append(d.numbers, n)
	}
	return i
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

func (d *clockDate) word(w string) {
	switch w {
	case "pm", "p":
		if d.hour > 0 && d.hour < 12 {
			d.hour += 12
		}
	case "am", "a":
		if d.hour == 12 {
			d.hour = 0
		}
	default:
		if m := monthOf(w); m != 0 && d.month == 0 {
			d.month = m
		}
	}
}

// time puts together what was found, if it is a day.
func (d clockDate) time() (time.Time, bool) {
	if !plausible(d.year) {
		return time.Time{}, false
	}
	if d.month == 0 && !d.numeric() {
		return time.Time{}, false
	}
	if d.day == 0 {
		for _, n := range d.numbers {
			if n >= 1 && n <= 31 {
				d.day = n
				break
			}
		}
	}
	hour, minute := d.hour, d.minute
	if hour < 0 {
		hour, minute = 12, 0
	}
	t := time.Date(d.year, d.month, max(d.day, 1), hour, minute, 0, 0, time.UTC)
	return t, t.Month() == d.month && minute < 60
}

// numeric takes a date of numbers alone: year first, or day first with the month told by what cannot be one.
func (d *clockDate) numeric() bool {
	if len(d.numbers) < 3 {
		return false
	}
	a, b, c := d.numbers[0], d.numbers[1], d.numbers[2]
	switch {
	case a == d.year:
		d.month, d.day = time.Month(b), c
	case c == d.year && b > 12:
		d.month, d.day = time.Month(a), b
	case c == d.year:
		d.month, d.day = time.Month(b), a
	}
	return d.month >= 1 && d.month <= 12 && d.day >= 1 && d.day <= 31
}

// monthOf knows the months in English and German, and their short forms; 0 for another word.
func monthOf(lower string) time.Month {
	switch strings.TrimSuffix(fold(lower), ".") {
	case "january", "jan", "januar", "janner":
		return time.January
	case "february", "feb", "februar":
		return time.February
	case "march", "mar", "marz", "maerz":
		return time.March
	case "april", "apr":
		return time.April
	case "may", "mai":
		return time.May
	case "june", "jun", "juni":
		return time.June
	case "july", "jul", "juli":
		return time.July
	case "august", "aug":
		return time.August
	case "september", "sep", "sept":
		return time.September
	case "october", "oct", "oktober", "okt":
		return time.October
	case "november", "nov":
		return time.November
	case "december", "dec", "dezember", "dez":
		return time.December
	}
	return 0
}

// weekdayOf knows the days of the week in English and German; -1 for another word.
func weekdayOf(lower string) time.Weekday {
	switch strings.TrimSuffix(fold(lower), "s") {
	case "sunday", "sonntag":
		return time.Sunday
	case "monday", "montag":
		return time.Monday
	case "tuesday", "dienstag":
		return time.Tuesday
	case "wednesday", "mittwoch":
		return time.Wednesday
	case "thursday", "donnerstag":
		return time.Thursday
	case "friday", "freitag":
		return time.Friday
	case "saturday", "samstag", "sonnabend":
		return time.Saturday
	}
	return -1
}
