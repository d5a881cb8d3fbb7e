package spend_test

import (
	"testing"
	"time"

	"ash/agent"
	"ash/agent/spend"
)

func TestForecast(t *testing.T) {
	d := newDesk(t, spend.PerCap{})
	today := d.now
	for days := 4; days >= 0; days-- { // $0.01 a day
		d.now = today.AddDate(0, 0, -days)
		if _, err := d.call(paid(), chat(10), says("x", 10_000, 0)); err != nil {
			t.Fatal(err)
		}
	}
	f, err := d.Forecast(t.Context())
	if err != nil || f.Days != 4 || f.Spent != 50_000 || f.Total != 50_000+8*10_000 {
		t.Errorf("%+v %v", f, err)
	}
}

// The first day of a month has its whole month before it, and goes by the days of the last; the last day has nothing but itself.
func TestForecastAtTheEdgesOfAMonth(t *testing.T) {
	for _, c := range []struct {
		name  string
		now   time.Time
		spent agent.MicroDollars // this month
		total agent.MicroDollars
	}{
		{"the first day, early", time.Date(2026, 11, 1, 0, 0, 1, 0, time.UTC), 0, 30 * 10_000},
		{"the first day, late", time.Date(2026, 11, 1, 23, 59, 59, 0, time.UTC), 0, 30 * 10_000},
		{"the last day", time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), 290_000, 300_000},
		{"the last day of a leap year's February", time.Date(2028, 2, 29, 12, 0, 0, 0, time.UTC), 280_000, 290_000},
		{"the last day of a year", time.Date(2026, 12, 31, 12, 0, 0, 0, time.UTC), 300_000, 310_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDeskIn(t, spend.PerCap{}, time.UTC)
			for days := 40; days > 0; days-- { // $0.01 a day, and nothing today
				d.now = c.now.AddDate(0, 0, -days)
				if _, err := d.call(paid(), chat(10), says("x", 10_000, 0)); err != nil {
					t.Fatal(err)
				}
			}
			d.now = c.now
			f, err := d.Forecast(t.Context())
			if err != nil || f.Days != 7 || f.Spent != c.spent || f.Total != c.total {
				t.Errorf("%+v %v", f, err)
			}
			// What today cost goes beyond the average: it counts, and does not change the days to come.
			if _, err := d.call(paid(), chat(10), says("x", 50_000, 0)); err != nil {
				t.Fatal(err)
			}
			if f, err = d.Forecast(t.Context()); err != nil || f.Spent != c.spent+50_000 || f.Total != c.total+40_000 {
				t.Errorf("with today: %+v %v", f, err)
			}
		})
	}
}

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Skipf("the time zone %s is not known here (install tzdata): %v", name, err)
	}
	return z
}

// Days of 23 and 25 hours are days like any other, and so is one that has no midnight.
func TestDaysWhereClocksChange(t *testing.T) {
	for _, c := range []struct {
		zone  string
		day   time.Time // when clocks change, in UTC at noon
		hours int       // that the day has
	}{
		{"Europe/Berlin", time.Date(2026, 3, 29, 12, 0, 0, 0, time.UTC), 23},
		{"Europe/Berlin", time.Date(2026, 10, 25, 12, 0, 0, 0, time.UTC), 25},
		{"Asia/Beirut", time.Date(2022, 3, 27, 12, 0, 0, 0, time.UTC), 23}, // at midnight
		{"Africa/Cairo", time.Date(2024, 4, 26, 12, 0, 0, 0, time.UTC), 23},
		{"America/Asuncion", time.Date(2023, 10, 1, 12, 0, 0, 0, time.UTC), 23}, // at the midnight that begins a month
	} {
		t.Run(c.zone+" "+c.day.Format(time.DateOnly), func(t *testing.T) {
			z := zone(t, c.zone)
			changed := spend.DayOf(c.day, time.UTC)
			d := newDeskIn(t, spend.PerCap{Day: 1_000_000, Month: 1_000_000}, z)
			local := func(days, hour, minute int) time.Time {
				return time.Date(c.day.Year(), c.day.Month(), c.day.Day()+days, hour, minute, 0, 0, z)
			}
			// One call in each hour that there is.
			hours := 0
			for d.now = local(-1, 12, 30); spend.DayOf(d.now, z) <= changed; d.now = d.now.Add(time.Hour) {
				if spend.DayOf(d.now, z) == changed {
					hours++
				}
				if _, err := d.call(paid(), chat(10), says("x", 1000, 0)); err != nil {
					t.Fatal(err)
				}
			}
			if hours != c.hours {
				t.Fatalf("the day has %d hours", hours)
			}
			r, err := d.Report(t.Context(), changed, changed)
			if err != nil || len(r.Days) != 1 || r.Total.Calls != hours {
				t.Errorf("%+v %v", r.Days, err)
			}
			// Half an hour past midnight, in the week after: no day is lost, and none counts twice.
			for days := 1; days <= 7; days++ {
				d.now = local(days, 0, 30)
				f, err := d.Forecast(t.Context())
				if err != nil || f.Days != min(days+1, 7) {
					t.Errorf("%d days after: it goes by %d days, %v", days, f.Days, err)
				}
			}
			// The day before, it is said when the cap begins anew: within the day that changes, and not before it.
			d.now = local(-1, 23, 0)
			list, err := d.Allowances(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			if got := spend.DayOf(list[0].Until, z); got != changed {
				t.Errorf("the day's cap begins anew on %s, want %s", got, changed)
			}
			if until := list[1].Until.In(z); until.Day() != 1 {
				t.Errorf("the month's cap begins anew on %s", until)
			}
		})
	}
}

func TestDaysAreAddedOnTheCalendar(t *testing.T) {
	for _, c := range []struct {
		day  spend.Day
		n    int
		want spend.Day
	}{
		{"2026-11-22", 0, "2026-11-22"}, {"2026-12-31", 1, "2027-01-01"}, {"2028-03-01", -1, "2028-02-29"},
		{"2026-11-22", -364, "2025-11-23"}, {"nothing", 3, "nothing"},
	} {
		if got := c.day.Add(c.n); got != c.want {
			t.Errorf("%s and %d days: %s, want %s", c.day, c.n, got, c.want)
		}
	}
}
