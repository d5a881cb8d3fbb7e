package audit

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// Access is a line of the access log of the vault.
type Access struct {
	At      time.Time `json:"at"`
	Action  string    `json:"action"`
	Name    string    `json:"name"`
	User    string    `json:"user"`
	Host    string    `json:"host"`
	Allowed bool      `json:"allowed"`
	Why     string    `json:"why"`
}

// LogFile is a file of the access log.
type LogFile struct {
	Name string // for the place: "logs/vault.jsonl"
	Open func() (io.ReadCloser, error)
}

// VaultUse checks the access log of the vault for what is out of pattern.
type VaultUse struct {
	Files func(ctx context.Context) ([]LogFile, error) // the oldest first
	Now   func() time.Time
	Zone  *time.Location
}

// Name implements Check.
func (VaultUse) Name() string { return "Use of the vault" }

const (
	maxLogLine  = 64 << 10
	recently    = 14 * 24 * time.Hour // what is older was told before
	pastNeeded  = 14 * 24 * time.Hour // of log, before anything can be called new
	burst       = 200                 // uses within a minute
	wrongUnlock = 5                   // wrong passphrases within ten minutes
	refusals    = 5                   // refused uses within an hour
	nightEnds   = 5                   // o'clock
)

// pattern is what the log shows, in bounded space.
type pattern struct {
	report   func(Finding)
	now      time.Time
	zone     *time.Location
	first    time.Time
	pairs    map[string]bool // secret, user, host that were there before
	minute   time.Time
	inMinute int
	wrong    []time.Time
	refused  []time.Time
	nights   map[string]int // day → uses at night
	usual    int            // uses at night before
	told     map[string]bool
}

// Run implements Check.
func (v VaultUse) Run(ctx context.Context, report func(Finding)) (string, error) {
	files, err := v.Files(ctx)
	if err != nil {
		return "", err
	}
	p := &pattern{report: report, now: v.Now(), zone: v.Zone, pairs: map[string]bool{}, nights: map[string]int{}, told: map[string]bool{}}
	lines, broken := 0, 0
	for _, f := range files {
		in, err := f.Open()
		if err != nil {
			return "", err
		}
		n, bad, err := p.read(ctx, f.Name, in)
		lines, broken = lines+n, broken+bad
		if closeErr := in.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			return "", err
		}
	}
	if broken > 0 {
		report(Finding{Severity: Medium, Text: fmt.Sprintf("%d lines of the access log of the vault cannot be read: they were changed, or cut off.", broken), Place: "logs/vault.jsonl", Remedy: "If no disk was full and nothing crashed, somebody changed the log."})
	}
	p.nightly()
	return fmt.Sprintf("%d uses", lines), nil
}

func (p *pattern) read(ctx context.Context, name string, in io.Reader) (lines, broken int, err error) {
	r := bufio.NewReaderSize(in, maxLogLine)
	for number := 1; ; number++ {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			broken++
			for err == bufio.ErrBufferFull { //nolint:errorlint // as it is documented
				_, err = r.ReadSlice('\n')
			}
			line = nil
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			var a Access
			if json.Unmarshal(line, &a) != nil || a.At.IsZero() {
				broken++
			} else {
				lines++
				p.take(a, fmt.Sprintf("%s:%d", name, number))
			}
		}
		if errors.Is(err, io.EOF) {
			return lines, broken, nil
		}
		if err != nil {
			return lines, broken, err
		}
		if number%1000 == 0 && ctx.Err() != nil {
			return lines, broken, ctx.Err()
		}
	}
}

// take looks at one line.
func (p *pattern) take(a Access, place string) {
	if p.first.IsZero() {
		p.first = a.At
	}
	fresh := p.now.Sub(a.At) < recently
	switch {
	case a.Action == "unlock" && !a.Allowed:
		if p.wrong = within(append(p.wrong, a.At), 10*time.Minute); fresh && len(p.wrong) >= wrongUnlock {
			p.once("wrong"+a.At.Format("2006010215"), Finding{Severity: High, Place: place, Text: fmt.Sprintf("Somebody tried %d wrong passphrases of the vault within ten minutes, on %s.", len(p.wrong), p.stamp(a.At)),
				Remedy: "If that was not you, somebody is at your machine or at your browser: change the passphrase and sign out all devices."})
		}
	case a.Action == "use" && !a.Allowed && a.Why != "locked" && a.Why != "not_found":
		p.refusal(a, place, fresh)
	case a.Action == "use" && a.Allowed:
		p.use(a, place, fresh)
	case fresh && a.Allowed && slices.Contains([]string{"export", "recover", "make recovery phrase", "rotate identity", "accept an older state", "change passphrase"}, a.Action):
		p.once(a.Action+place, Finding{Severity: Info, Place: place, Text: fmt.Sprintf("On %s somebody did this with the vault: %s.", p.stamp(a.At), a.Action), Remedy: "Nothing to do if that was you."})
	}
}

func (p *pattern) refusal(a Access, place string, fresh bool) {
	p.refused = within(append(p.refused, a.At), time.Hour)
	if !fresh {
		return
	}
	f := Finding{Severity: Medium, Place: place, Text: fmt.Sprintf("On %s, %s asked for the secret %s for %s, which it is not bound to, and was refused.", p.stamp(a.At), orSomebody(a.User), a.Name, orNowhere(a.Host)),
		Remedy: "If you changed an address or a tool, bind the secret anew. If not, something tried to send it elsewhere."}
	if len(p.refused) >= refusals {
		f.Severity = High
	}
	p.once("refused"+a.Name+a.User+a.Host, f)
}

func (p *pattern) use(a Access, place string, fresh bool) {
	pair := a.Name + "\x00" + a.User + "\x00" + a.Host
	if fresh && !p.pairs[pair] && a.At.Sub(p.first) > pastNeeded && len(p.pairs) > 0 {
		p.once("new"+pair, Finding{Severity: Low, Place: place, Text: fmt.Sprintf("Since %s %s uses the secret %s for %s. It did not before.", p.stamp(a.At), orSomebody(a.User), a.Name, orNowhere(a.Host)),
			Remedy: "Nothing to do if you set that up."})
	}
	if len(p.pairs) < 10_000 {
		p.pairs[pair] = true
	}
	if minute := a.At.Truncate(time.Minute); minute != p.minute {
		p.minute, p.inMinute = minute, 0
	}
	if p.inMinute++; fresh && p.inMinute == burst {
		p.once("burst"+a.At.Format("2006010215"), Finding{Severity: Medium, Place: place, Text: fmt.Sprintf("Secrets were used %d times within a minute, on %s.", burst, p.stamp(a.At)),
			Remedy: "Look which conversation or program did that: the access log of the vault names it."})
	}
	if a.At.In(p.zone).Hour() < nightEnds {
		if fresh {
			p.nights[a.At.In(p.zone).Format(time.DateOnly)+" ("+place+")"]++
		} else {
			p.usual++
		}
	}
}

// nightly tells of uses at night, where that is not usual.
func (p *pattern) nightly() {
	if p.usual > 0 || len(p.nights) == 0 || p.now.Sub(p.first) < pastNeeded {
		return
	}
	days := make([]string, 0, len(p.nights))
	for d := range p.nights {
		days = append(days, d)
	}
	slices.Sort(days)
	f := Finding{Severity: Low, Place: "logs/vault.jsonl", Text: fmt.Sprintf("Secrets were used between midnight and %d o'clock, which they were not before.", nightEnds), Remedy: "Nothing to do if you were awake, or if something was planned for that time."}
	f.More = days[:min(len(days), placesKept)]
	p.report(f)
}

// once reports a thing the first time.
func (p *pattern) once(key string, f Finding) {
	if !p.told[key] && len(p.told) < 10_000 {
		p.told[key] = true
		p.report(f)
	}
}

func (p *pattern) stamp(t time.Time) string { return t.In(p.zone).Format("2 January, 15:04") }

// within drops the times that are longer before the last than span.
func within(list []time.Time, span time.Duration) []time.Time {
	last := list[len(list)-1]
	i := 0
	for i < len(list)-1 && last.Sub(list[i]) > span {
		i++
	}
	return slices.Clone(list[max(i, len(list)-1000):])
}

func orSomebody(user string) string {
	if user == "" {
		return "somebody"
	}
	return user
}

func orNowhere(host string) string {
	if host == "" {
		return "use inside Ash"
	}
	return host
}
