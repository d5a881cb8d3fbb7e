package doctor

import (
	"context"
	"strings"
	"time"
)

// soon is how long before its end a certificate is worth a word.
const soon = 14 * 24 * time.Hour

// Certificates is what HTTPS in the network is served with.
type Certificates struct {
	Own     bool      // the person named it; else Ash made it
	Names   []string  // that it is for
	Ends    time.Time // zero where there is none
	Problem string    // why it cannot be used
}

// Certificate checks what HTTPS in the network is served with.
type Certificate struct {
	Look func(ctx context.Context) (Certificates, error)
	Now  time.Time
}

// Name implements Check.
func (Certificate) Name() string { return "Certificate" }

// Run implements Check.
func (c Certificate) Run(ctx context.Context) Finding {
	have, err := c.Look(ctx)
	fix := "Unlock the vault: Ash then makes another."
	if have.Own {
		fix = "Have it renewed by who wrote it (tailscale cert, certbot), or name another under Settings → Doors. Ash takes a new one by itself."
	}
	switch left := have.Ends.Sub(c.Now); {
	case err != nil:
		return unseen(err, "")
	case have.Problem != "":
		return Finding{Severity: Problem, Text: have.Problem, Fix: fix}
	case have.Ends.IsZero():
		return Finding{Severity: Warning, Text: "HTTPS is on, and there is no certificate yet, so your network does not reach Ash.", Fix: fix}
	case left <= 0:
		return Finding{Severity: Problem, Text: "The certificate ended on " + have.Ends.Format(time.DateOnly) + ": browsers warn of it.", Fix: fix}
	case left < soon:
		return Finding{Severity: Warning, Text: "The certificate ends on " + have.Ends.Format(time.DateOnly) + ".", Fix: fix}
	}
	text := "HTTPS is served with a certificate that Ash made, good until " + have.Ends.Format(time.DateOnly) + "."
	if have.Own {
		text = "HTTPS is served with your own certificate for " + strings.Join(have.Names, ", ") + ", good until " + have.Ends.Format(time.DateOnly) + "."
	}
	return Finding{Severity: OK, Text: text}
}
