package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Doors is where pages are served, or would be.
type Doors struct {
	Address string   // from the settings
	Open    []string // addresses a running server listens on
	Busy    bool     // no server of this home runs, and another program has the address
	Default bool     // nobody chose the address, so the next free port is taken
	Refused string   // why Ash would not listen there; "" when it would
	Barred  string   // why Ash does not listen there before somebody from elsewhere could sign in; "" when it does
	Ready   bool     // somebody from elsewhere could sign in: there is a passphrase, or a paired device
	Network []string // addresses at which other devices reach a running server: "http://192.168.1.5:8080"
	Closed  string   // why other devices do not reach it as the settings ask for; "" when they do
}

// Ports checks that the pages can be served where they should be.
type Ports struct {
	Look func(ctx context.Context) (Doors, error)
}

// Name implements Check.
func (Ports) Name() string { return "Address" }

// Run implements Check.
func (p Ports) Run(ctx context.Context) Finding {
	d, err := p.Look(ctx)
	switch {
	case err != nil:
		return unseen(err, "")
	case d.Barred != "":
		return Finding{Severity: Problem, Text: d.Barred, Fix: passphraseFirst, Command: setPassphrase, Link: PageDoors}
	case d.Refused != "":
		return Finding{Severity: Problem, Text: d.Refused, Fix: "Change server.listen.", Command: "ash config set server.listen 127.0.0.1:8080"}
	case len(d.Open) > 0:
		return d.open()
	case d.Busy && d.Default:
		return Finding{Severity: Note, Text: "Another program uses " + d.Address + ". Ash takes the next free port when it starts, and says which."}
	case d.Busy:
		return Finding{Severity: Problem, Text: "Another program uses " + d.Address + ", so Ash cannot start there.",
			Fix: "End that program, or choose another address.", Command: "ash config set server.listen 127.0.0.1:0"}
	}
	if d.Closed != "" {
		return d.closed(d.Address + " is free. ")
	}
	return Finding{Severity: OK, Text: d.Address + " is free."}
}

// What opens Ash to other devices, where nobody could sign in yet.
const (
	passphraseFirst = "Set a passphrase, or pair a device under Settings → Doors."
	setPassphrase   = "ash doors passphrase"
)

// open tells where a running server is.
func (d Doors) open() Finding {
	f := Finding{Severity: OK, Text: "Ash listens on " + strings.Join(d.Open, ", ") + "."}
	if d.Closed != "" {
		f = d.closed(f.Text + " ")
	}
	if len(d.Network) > 0 {
		f.Text += " Other devices reach it at " + strings.Join(d.Network, ", ") + "."
	}
	return f
}

// closed tells why other devices do not reach Ash although they should.
func (d Doors) closed(first string) Finding {
	f := Finding{Severity: Warning, Text: first + d.Closed, Fix: "See to that, or close Ash to other devices again: Settings → Doors.", Command: "ash config set doors.lan off", Link: PageDoors}
	if !d.Ready {
		f.Fix, f.Command = passphraseFirst, setPassphrase
	}
	return f
}

// Server checks whether a running Ash answers.
type Server struct {
	Look func(ctx context.Context) (ServerState, error)
}

// ServerState is what is known of the running Ash of the home.
type ServerState struct {
	Self    bool   // this look is made by it
	Running bool   // it holds the home
	Answers bool   // on its socket
	Version string // its own
	Mine    string // of this program
	Who     string // " (process 12, http://localhost:8080)"; "" when not known
}

// Name implements Check.
func (Server) Name() string { return "Running Ash" }

// Run implements Check.
func (s Server) Run(ctx context.Context) Finding {
	st, err := s.Look(ctx)
	switch {
	case err != nil:
		return unseen(err, "")
	case st.Self:
		return Finding{Severity: OK, Text: "Ash runs" + st.Who + "."}
	case st.Running && !st.Answers:
		return Finding{Severity: Problem, Text: "An Ash holds the home" + st.Who + ", but does not answer on its socket.",
			Fix: "Another command may be at work for a moment. If it stays like this, end that process and start Ash anew: nothing that was stored is lost."}
	case !st.Running:
		return Finding{Severity: Note, Text: "No Ash runs on this home now. Its files were looked at without it.", Command: "ash serve"}
	case st.Version != st.Mine:
		return Finding{Severity: Warning, Text: fmt.Sprintf("The running Ash is %s, this program is %s.", st.Version, st.Mine), Fix: "Start Ash anew, so that both are the same."}
	}
	return Finding{Severity: OK, Text: "Ash runs" + st.Who + " and answers."}
}

// Times is what the check of the clock compares.
type Times struct {
	Stored time.Time // of the newest thing in the database; zero for none
	Built  time.Time // of this program; zero when not known
	// Asked are the clocks of servers that were asked, with the middle of the moment they were.
	Asked []Asked
}

// Asked is the clock of a server.
type Asked struct {
	Host   string
	Said   time.Time // with a resolution of one second
	Moment time.Time // by our own clock, when it was
}

// How far the clock may be off before it is said.
const (
	offABit  = 30 * time.Second // codes and signatures of some providers are refused
	offALot  = 5 * time.Minute
	inFuture = 2 * time.Minute // what is stored may be that much ahead
)

// Clock checks whether the clock of this machine can be right.
type Clock struct {
	Look func(ctx context.Context) (Times, error)
	Now  func() time.Time // nil is time.Now
}

// Name implements Check.
func (Clock) Name() string { return "Clock" }

// Run implements Check.
func (c Clock) Run(ctx context.Context) Finding {
	const fix = "Set the clock right, best by itself over the network. Memories, expiry and caps go by it."
	const command = "timedatectl set-ntp true"
	t, err := c.Look(ctx)
	if err != nil {
		return unseen(err, "")
	}
	now := time.Now()
	if c.Now != nil {
		now = c.Now()
	}
	if ahead := t.Stored.Sub(now); !t.Stored.IsZero() && ahead > inFuture {
		return Finding{Severity: Problem, Text: fmt.Sprintf("The clock is wrong, or was: it says %s, but what was stored last is of %s.", stamp(now), stamp(t.Stored)), Fix: fix, Command: command}
	}
	if !t.Built.IsZero() && now.Before(t.Built.Add(-24*time.Hour)) {
		return Finding{Severity: Problem, Text: fmt.Sprintf("The clock is wrong: it says %s, which is before this program was made.", stamp(now)), Fix: fix, Command: command}
	}
	for _, a := range t.Asked {
		off := a.Moment.Sub(a.Said)
		if off.Abs() <= offABit {
			continue
		}
		f := Finding{Severity: Warning, Text: fmt.Sprintf("The clock is %s by %s, %s says.", fastSlow(off), off.Abs().Round(time.Second), a.Host), Fix: fix, Command: command}
		if off.Abs() > offALot {
			f.Severity = Problem
		}
		return f
	}
	if len(t.Asked) > 0 {
		return Finding{Severity: OK, Text: "The clock is right, " + t.Asked[0].Host + " says."}
	}
	return Finding{Severity: OK, Text: "The clock says " + stamp(now) + ", after everything that is stored. No server was asked."}
}

func fastSlow(off time.Duration) string {
	if off > 0 {
		return "fast"
	}
	return "slow"
}

func stamp(t time.Time) string { return t.Format("2006-01-02 15:04 MST") }

// Zones is what is known of the time zone.
type Zones struct {
	Name    string // "Europe/Berlin"
	Wrong   string // the value of TZ that names no zone; "" for none
	Unknown bool   // the machine does not say, so UTC is taken
}

// Zone checks that the time zone is known, because days and reminders go by it.
type Zone struct {
	Look func(ctx context.Context) (Zones, error)
}

// Name implements Check.
func (Zone) Name() string { return "Time zone" }

// Run implements Check.
func (z Zone) Run(ctx context.Context) Finding {
	s, err := z.Look(ctx)
	switch {
	case err != nil:
		return unseen(err, "")
	case s.Wrong != "":
		return Finding{Severity: Warning, Text: fmt.Sprintf("The variable TZ says %q, which is no time zone, so Ash goes by UTC.", s.Wrong), Fix: "Set TZ to a name like Europe/Berlin, or unset it."}
	case s.Unknown:
		return Finding{Severity: Note, Text: "This machine does not say its time zone, so Ash goes by UTC.", Fix: "Set it if you live elsewhere.", Command: "timedatectl set-timezone Europe/Berlin"}
	}
	return Finding{Severity: OK, Text: "Ash goes by " + s.Name + "."}
}
