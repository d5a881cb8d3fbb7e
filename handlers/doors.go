package handlers

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/access"
	"ash/agent/access/localca"
	"ash/agent/config"
	"ash/agent/vault"
	"ash/views/pages"
)

// Doors is Settings → Doors: who may come in, and from where.
type Doors struct {
	*Frame
	Keeping DoorKeeping
	Pairing DoorPairing
	Network Network
	Config  Config
	Vault   DoorVault
	// Authority returns the certificate of Ash's own authority in DER; nil when there is none.
	Authority func() []byte
}

// DoorKeeping is what the person says about passphrase and devices. Its place is package access.
type DoorKeeping interface {
	HasPassphrase(ctx context.Context) (bool, error)
	// SetPassphrase sets or changes it: CodeInvalid for a weak one, *access.Refused for a wrong old one.
	SetPassphrase(ctx context.Context, change access.Change) error
	Devices(ctx context.Context) ([]access.Device, error)
	// SignOut is CodeNotFound for a device that is not signed in.
	SignOut(ctx context.Context, device agent.ID) error
	// SignOutAll ends all sessions but one.
	SignOutAll(ctx context.Context, except agent.ID) (int, error)
}

// DoorPairing pairs devices from a screen that is signed in.
type DoorPairing interface {
	Offer(ctx context.Context) (access.Offer, error)
	Withdraw(ctx context.Context, offer agent.ID) error
	Claims(ctx context.Context) ([]access.Claim, error)
	// Confirm is CodeNotFound for a claim that is over, CodeConflict for one that was decided on.
	Confirm(ctx context.Context, claim agent.ID, yes bool) error
}

// Network is what of this machine other devices reach.
type Network interface {
	// State is what is open now.
	State() NetworkState
	// Apply brings what is open in line with the settings, and says what came of it.
	Apply(ctx context.Context) NetworkState
}

// DoorVault keeps the key of Ash's own authority. Its place is package vault.
type DoorVault interface {
	Status(ctx context.Context) vault.Status
	Create(ctx context.Context, passphrase []byte) error
	Unlock(ctx context.Context, passphrase []byte) error
}

// NetworkState is what other devices reach.
type NetworkState struct {
	Addresses []string  // as a browser opens them, the best first: "http://192.168.1.5:8080"; none: only this machine reaches Ash
	Names     []string  // the same by names of this machine: "http://box.local:8080"
	Outside   []string  // by names that a proxy or tailscale serve has: "https://ash.example.org"
	Fixed     string    // what opened them, where the page cannot close them: "--listen"; "" otherwise
	Problem   string    // why what the settings ask for is not open; "" for nothing
	Secure    bool      // the addresses speak HTTPS, by Ash's own certificate or the person's
	Ends      time.Time // when that certificate does
	OwnNames  []string  // of the person's own certificate, where it is shown
	OwnEnds   time.Time // when that one does
	Tailnet   string    // this machine's name in a tailnet; "" without Tailscale
	Port      string    // of the pages on this machine
}

// Reachable returns the addresses at which another device finds this Ash, the best first.
func (n NetworkState) Reachable() []string { return slices.Concat(n.Addresses, n.Outside, n.Names) }

// Show answers GET /settings/doors?offer=.
func (h *Doors) Show(c echo.Context) error {
	pairing, err := h.underWay(c, c.QueryParam("offer"))
	if err != nil {
		return err
	}
	return h.show(c, http.StatusOK, func(p *pages.Doors) { p.Pairing = pairing })
}

// show renders the page; change puts into it what a form was answered with.
func (h *Doors) show(c echo.Context, status int, change func(*pages.Doors)) error {
	page, err := h.page(c)
	if err != nil {
		return err
	}
	if change != nil {
		change(&page)
	}
	return render(c, status, page.Show())
}

func (h *Doors) page(c echo.Context) (pages.Doors, error) {
	ctx := c.Request().Context()
	frame, err := h.settings(c, "doors", "Doors")
	if err != nil {
		return pages.Doors{}, err
	}
	out := pages.Doors{SettingsFrame: frame}
	if out.HasPassphrase, err = h.Keeping.HasPassphrase(ctx); err != nil {
		return out, err
	}
	if out.Devices, err = h.devices(c); err != nil {
		return out, err
	}
	now, state := h.Config.Current(), h.Network.State()
	doors := now.Config().Doors
	out.Ready = out.HasPassphrase || len(out.Devices) > 0
	out.Open, out.Wanted = len(state.Addresses) > 0, doors.LAN != config.LANOff
	out.Addresses, out.Outside, out.Problem = slices.Concat(state.Addresses, state.Names), state.Outside, state.Problem
	if out.Fixed = state.Fixed; out.Fixed == "" {
		if s, err := now.Setting("doors.lan"); err == nil && s.Origin.Fixed() {
			out.Fixed = s.Origin.String()
		}
	}
	out.Reachable = len(state.Reachable()) > 0
	out.HTTPS, out.Ends, out.Tailnet, out.Port = doors.HTTPS, state.Ends, state.Tailnet, state.Port
	if der := h.Authority(); der != nil {
		out.Fingerprint = localca.Fingerprint(der)
	}
	out.Certificate, out.CertificateKey, out.OwnNames, out.OwnEnds = doors.Certificate, doors.CertificateKey, state.OwnNames, state.OwnEnds
	if doors.Certificate == "" {
		out.Asks = h.asks(ctx)
	}
	out.AskHere, out.Names = doors.LocalSignIn, strings.Join(doors.Names, ", ")
	out.Tailscale, out.Logins = doors.Tailscale, strings.Join(doors.TailscaleLogins, ", ")
	out.Days = doors.SessionDays
	return out, nil
}

// devices presents those that are signed in, this one first.
func (h *Doors) devices(c echo.Context) ([]pages.DoorDevice, error) {
	list, err := h.Keeping.Devices(c.Request().Context())
	if err != nil {
		return nil, err
	}
	mine := VisitorOf(c).Device.ID
	slices.SortStableFunc(list, func(a, b access.Device) int {
		switch {
		case a.ID == mine:
			return -1
		case b.ID == mine:
			return 1
		}
		return b.Seen.Compare(a.Seen)
	})
	out := make([]pages.DoorDevice, 0, len(list))
	for _, d := range list {
		out = append(out, pages.DoorDevice{
			ID: d.ID, Name: cmp.Or(visible(d.Name), "A browser"), What: access.AgentName(d.Agent), Address: d.Address, Paired: d.How == access.ByPairing,
			Since: d.Created.In(h.Zone), Seen: waited(h.Now().Sub(d.Seen)), This: d.ID == mine, Phone: onPhone(d.Agent),
		})
	}
	return out, nil
}

// onPhone reports whether a User-Agent is a phone's or a tablet's.
func onPhone(userAgent string) bool {
	return slices.ContainsFunc([]string{"Mobile", "Android", "iPhone", "iPad"}, func(s string) bool { return strings.Contains(userAgent, s) })
}

// Passphrase answers POST /settings/doors/passphrase: old, new.
func (h *Doors) Passphrase(c echo.Context) error {
	problem, status, err := h.setPassphrase(c)
	if err != nil {
		return err
	}
	if problem != "" {
		return h.show(c, status, func(p *pages.Doors) { p.PassphraseProblem = problem })
	}
	h.Network.Apply(c.Request().Context())
	return see(c, "/settings/doors")
}

// setPassphrase sets the passphrase of the form. A problem is for its field.
func (h *Doors) setPassphrase(c echo.Context) (problem string, status int, err error) {
	if err := ParseForm(c.Request()); err != nil {
		return "", 0, err
	}
	form := c.Request().PostForm
	old, passphrase := []byte(form.Get("old")), []byte(form.Get("new"))
	defer clear(old)
	defer clear(passphrase)
	err = h.Keeping.SetPassphrase(c.Request().Context(), access.Change{Old: old, New: passphrase, By: arrival(c, ""), Keep: VisitorOf(c).Device.ID})
	var refused *access.Refused
	switch {
	case errors.As(err, &refused):
		status, problem = refusal(c, refused, "That is not the passphrase up to now.")
		return problem, status, nil
	case agent.CodeOf(err) == agent.CodeInvalid, agent.CodeOf(err) == agent.CodeConflict:
		return agent.PublicOf(err), http.StatusUnprocessableEntity, nil
	}
	return "", 0, err
}

// Open answers POST /settings/doors/open: other devices of the network may reach Ash, and one is paired. The first time it brings the
// passphrase, since nobody opens a door that nobody watches.
func (h *Doors) Open(c echo.Context) error {
	ctx := c.Request().Context()
	page, err := h.page(c)
	if err != nil {
		return err
	}
	if !page.Ready {
		problem, status, err := h.setPassphrase(c)
		if err != nil {
			return err
		}
		if problem != "" {
			return h.show(c, status, func(p *pages.Doors) { p.PassphraseProblem = problem })
		}
	}
	if err := h.set(ctx, config.Change{Key: "doors.lan", Value: config.LANOn}); err != nil {
		return err
	}
	state := h.Network.Apply(ctx)
	if len(state.Addresses) == 0 {
		return see(c, "/settings/doors") // the page says why
	}
	return h.pair(c)
}

// Close answers POST /settings/doors/close: only this machine reaches Ash from now on. Whoever came in from the network is gone.
func (h *Doors) Close(c echo.Context) error {
	ctx := c.Request().Context()
	if err := h.set(ctx, config.Change{Key: "doors.lan", Value: config.LANOff}); err != nil {
		return err
	}
	if VisitorOf(c).Here {
		h.Network.Apply(ctx)
		return see(c, "/settings/doors")
	}
	// This answer may leave by the very door that closes, a moment after the settings changed. No page follows it.
	return render(c, http.StatusOK, pages.DoorsClosed{Page: h.bare(c, "Closed")}.Show())
}

func (h *Doors) set(ctx context.Context, changes ...config.Change) error {
	_, err := h.Config.Edit(ctx, "", changes)
	return err
}

// Here answers POST /settings/doors/here: whether this machine's own browser has to sign in.
func (h *Doors) Here(c echo.Context) error {
	ask, err := line(c, "ask", 10)
	if err != nil {
		return err
	}
	has, err := h.Keeping.HasPassphrase(c.Request().Context())
	if err != nil {
		return err
	}
	if ask == "1" && !has {
		return agent.Errorf(agent.CodeConflict, "Set a passphrase first: without one nobody could sign in here.")
	}
	if err := h.set(c.Request().Context(), config.Change{Key: "doors.local_sign_in", Value: trueOr(ask == "1")}); err != nil {
		return err
	}
	return see(c, "/settings/doors")
}

func trueOr(yes bool) string {
	if yes {
		return "true"
	}
	return "false"
}

// Names answers POST /settings/doors/names: names that a proxy serves.
func (h *Doors) Names(c echo.Context) error {
	names, err := line(c, "names", 2000)
	if err != nil {
		return err
	}
	return h.change(c, func(p *pages.Doors, problem string) { p.NamesProblem, p.Names = problem, names }, listed("doors.names", typedList(strings.ToLower(names))))
}

// Tailscale answers POST /settings/doors/tailscale: whether tailscale serve is believed, and whom it lets in.
func (h *Doors) Tailscale(c echo.Context) error {
	on, err := line(c, "on", 10)
	if err != nil {
		return err
	}
	logins, err := line(c, "logins", 2000)
	if err != nil {
		return err
	}
	return h.change(c, func(p *pages.Doors, problem string) { p.TailscaleProblem, p.Logins = problem, logins },
		config.Change{Key: "doors.tailscale", Value: trueOr(on == "1")}, listed("doors.tailscale_logins", typedList(logins)))
}

// typedList splits what was typed as a list.
func typedList(value string) []string {
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
}

// change edits the settings; what they refuse is said at its field.
func (h *Doors) change(c echo.Context, refused func(*pages.Doors, string), changes ...config.Change) error {
	err := h.set(c.Request().Context(), changes...)
	if agent.CodeOf(err) == agent.CodeInvalid {
		return h.show(c, http.StatusUnprocessableEntity, func(p *pages.Doors) { refused(p, agent.PublicOf(err)) })
	}
	if err != nil {
		return err
	}
	h.Network.Apply(c.Request().Context())
	return see(c, "/settings/doors")
}

// SignOut answers POST /settings/doors/devices/{device}/sign-out. Its streams end with it.
func (h *Doors) SignOut(c echo.Context) error {
	id, err := param(c, "device")
	if err != nil {
		return err
	}
	if err := h.Keeping.SignOut(c.Request().Context(), id); err != nil && agent.CodeOf(err) != agent.CodeNotFound {
		return err
	}
	if id == VisitorOf(c).Device.ID && !VisitorOf(c).Here {
		return see(c, "/sign-in")
	}
	return see(c, "/settings/doors")
}

// SignOutAll answers POST /settings/doors/sign-out-all: every device but this one.
func (h *Doors) SignOutAll(c echo.Context) error {
	question := "Sign out every device?"
	if VisitorOf(c).Device.ID != "" {
		question = "Sign out every device but this one?"
	}
	if yes, err := h.sure(c, pages.Sure{Question: question, Yes: "Sign out", Back: "/settings/doors"}); err != nil || !yes {
		return err
	}
	if _, err := h.Keeping.SignOutAll(c.Request().Context(), VisitorOf(c).Device.ID); err != nil {
		return err
	}
	return see(c, "/settings/doors")
}
