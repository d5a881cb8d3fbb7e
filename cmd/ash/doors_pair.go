package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ash/agent"
	"ash/agent/access"
	"ash/handlers"
)

// askEvery is how often ash pair asks the server what has become of the code.
const askEvery = 500 * time.Millisecond

func pairCommand(home func() (string, error)) *cobra.Command {
	var base string
	cmd := &cobra.Command{
		Use:   "pair",
		Short: "Let a phone or another computer in, by a code shown here",
		Long: `Show a QR code and a short code that let one device in. The code works once, for two minutes, and
only after you said here that the device is yours.

Ash has to run and be open to your network (ash serve --lan), or be reached through a proxy or
tailscale serve: then name its address with --url.`,
		Example: `  ash pair
  ash pair --url https://box.tail1234.ts.net`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if base, err = baseAddress(base); err != nil {
				return err
			}
			if !isTerminal(cmd.InOrStdin()) {
				return agent.Errorf(agent.CodeInvalid, "ash pair asks whether the device is yours. Run it in a terminal.")
			}
			dir, err := home()
			if err != nil {
				return err
			}
			c, err := dial(cmd.Context(), filepath.Join(dir, socketName))
			if err != nil {
				return agent.Wrap(agent.CodeUnavailable, err, "Ash does not run on %s. Start it, open to your network, with: ash serve --lan", dir)
			}
			defer c.close()
			p := &pairing{client: c, base: base, out: cmd.OutOrStdout(), colour: isTerminalOut(cmd.OutOrStdout()), answers: newAnswers(cmd.InOrStdin())}
			return p.run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&base, "url", "", "where the other device reaches this Ash, such as https://ash.example.org")
	return cmd
}

// baseAddress checks the address of --url.
func baseAddress(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil || strings.Trim(u.Path, "/") != "" {
		return "", usageError{fmt.Errorf("--url %q is no address: write it like https://ash.example.org", text)}
	}
	return u.Scheme + "://" + u.Host, nil
}

// pairing is one run of ash pair.
type pairing struct {
	client  *client
	base    string // of --url; "" for the server's own
	out     io.Writer
	colour  bool
	answers *answers
}

// run shows a code, waits for a device, asks, and waits until the device is in.
func (p *pairing) run(ctx context.Context) error {
	offer, err := p.offer(ctx)
	if err != nil {
		return err
	}
	claim, err := p.claimed(ctx, offer)
	if err != nil {
		return err
	}
	if claim.Stage == access.StageWaiting {
		if claim, err = p.decide(ctx, claim); err != nil {
			return err
		}
	}
	return p.collected(ctx, claim)
}

// offer opens an offer and shows it.
func (p *pairing) offer(ctx context.Context) (o handlers.ControlDoorOffer, err error) {
	if p.base == "" {
		var s handlers.ControlDoorState
		if err := p.client.call(ctx, http.MethodGet, "/doors", nil, &s); err != nil {
			return o, err
		}
		if len(s.Addresses) == 0 {
			how := "ash serve --lan, or in Settings → Doors"
			if !s.Passphrase && len(s.Devices) == 0 {
				how = "ash doors passphrase, and then " + how
			}
			return o, agent.Errorf(agent.CodeConflict, "No other device reaches this Ash yet. Open it to your network: %s. Behind a proxy or tailscale serve, name its address with --url.", how)
		}
	}
	if err := p.client.call(ctx, http.MethodPost, "/doors/offers", struct{}{}, &o); err != nil {
		return o, err
	}
	base := p.base
	if base == "" && len(o.Addresses) > 0 {
		base = o.Addresses[0]
	}
	picture, err := qrText(base+"/pair/"+o.Link, p.colour)
	if err != nil {
		return o, err
	}
	_, err = fmt.Fprintf(p.out, "%s\nPhotograph this with the phone, or open  %s/pair  there and type  %s\nIt works once, for two minutes. Waiting for the device (Ctrl-C ends it) …\n", picture, base, o.Code)
	return o, err
}

// find returns what the server knows of a claim that fits; zero for none.
func (p *pairing) find(ctx context.Context, fits func(handlers.ControlClaim) bool) (handlers.ControlClaim, error) {
	var list []handlers.ControlClaim
	if err := p.client.call(ctx, http.MethodGet, "/doors/claims", nil, &list); err != nil {
		return handlers.ControlClaim{}, err
	}
	for _, c := range list {
		if fits(c) {
			return c, nil
		}
	}
	return handlers.ControlClaim{}, nil
}

// claimed waits until a device gives the code. When nobody does, or this is broken off, the code is void.
func (p *pairing) claimed(ctx context.Context, o handlers.ControlDoorOffer) (handlers.ControlClaim, error) {
	for {
		c, err := p.find(ctx, func(c handlers.ControlClaim) bool { return c.Offer == o.ID })
		if err == nil && c.ID != "" {
			return c, nil
		}
		if err == nil && !time.Now().Before(o.Expires) {
			return c, agent.Errorf(agent.CodeUnavailable, "Nobody came within two minutes. For another code, run ash pair again.")
		}
		if err == nil {
			err = pause(ctx, askEvery)
		}
		if err != nil {
			last, done := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer done()
			_ = p.client.call(last, http.MethodPost, "/doors/withdraw", handlers.ControlWithdraw{Offer: o.ID}, nil) // it ends by itself, too
			return c, err
		}
	}
}

// decide asks the person about a claim, unless that is decided on another screen first.
func (p *pairing) decide(ctx context.Context, c handlers.ControlClaim) (handlers.ControlClaim, error) {
	p.answers.forget() // what was typed before the question is no answer to it
	fmt.Fprintf(p.out, "\n“%s” (%s) at %s wants to come in.\nIt must show the number  %s . Does it, and is it yours? [y/N] › ", shown(c.Name), shown(c.Kind), c.Address, c.Check)
	for {
		select {
		case <-ctx.Done():
			return c, ctx.Err()
		case text, more := <-p.answers.lines:
			yes := more && isYes(text)
			err := p.client.call(ctx, http.MethodPost, "/doors/claims/"+string(c.ID), handlers.ControlConfirm{Yes: yes}, nil)
			if err != nil && agent.CodeOf(err) != agent.CodeConflict {
				return c, err
			}
			return p.find(ctx, func(x handlers.ControlClaim) bool { return x.ID == c.ID })
		case <-time.After(askEvery):
		}
		now, err := p.find(ctx, func(x handlers.ControlClaim) bool { return x.ID == c.ID })
		if err != nil || now.Stage != access.StageWaiting {
			fmt.Fprintln(p.out)
			return now, err
		}
	}
}

// collected waits until a confirmed device is signed in, and says what came of the claim.
func (p *pairing) collected(ctx context.Context, c handlers.ControlClaim) error {
	name := shown(c.Name)
	for {
		switch c.Stage {
		case access.StageCollected:
			_, err := fmt.Fprintf(p.out, "“%s” is signed in. To sign it out: ash doors sign-out\n", name)
			return err
		case access.StageDeclined:
			_, err := fmt.Fprintf(p.out, "“%s” stays out.\n", name)
			return err
		case access.StageConfirmed:
		default:
			return agent.Errorf(agent.CodeUnavailable, "That took too long: the pairing is over. For another code, run ash pair again.")
		}
		if err := pause(ctx, askEvery); err != nil {
			return err
		}
		var err error
		if c, err = p.find(ctx, func(x handlers.ControlClaim) bool { return x.ID == c.ID }); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// answers are the lines that a person types.
type answers struct{ lines chan string }

// newAnswers reads lines until in ends. Reading cannot be broken off: the goroutine goes with the command.
func newAnswers(in io.Reader) *answers {
	a := &answers{lines: make(chan string)}
	go func() {
		defer close(a.lines)
		for s := bufio.NewScanner(in); s.Scan(); {
			a.lines <- s.Text()
		}
	}()
	return a
}

// yes waits for a line and reports whether it is a yes.
func (a *answers) yes(ctx context.Context) bool {
	select {
	case text, more := <-a.lines:
		return more && isYes(text)
	case <-ctx.Done():
		return false
	}
}

// forget drops what was typed so far.
func (a *answers) forget() {
	for {
		select {
		case _, more := <-a.lines:
			if !more {
				return
			}
		case <-time.After(typedAhead):
			return
		}
	}
}

func isYes(text string) bool {
	text = strings.ToLower(strings.TrimSpace(text))
	return text == "y" || text == "yes"
}
