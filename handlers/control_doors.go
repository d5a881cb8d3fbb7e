package handlers

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/access"
)

// ControlDoors is what the command line asks of the doors: package access. Whoever reaches the socket is at the machine itself, so
// nothing here asks for the old passphrase.
type ControlDoors interface {
	ControlPairing
	ControlDevices
	HasPassphrase(ctx context.Context) (bool, error)
	ResetPassphrase(ctx context.Context, passphrase []byte) error
	Reset(ctx context.Context) error
}

// ControlDevices is what the command line asks of the devices that are signed in.
type ControlDevices interface {
	Devices(ctx context.Context) ([]access.Device, error)
	SignOut(ctx context.Context, device agent.ID) error
	SignOutAll(ctx context.Context, except agent.ID) (int, error)
}

// ControlPairing is what the command line asks of pairing.
type ControlPairing interface {
	Offer(ctx context.Context) (access.Offer, error)
	Withdraw(ctx context.Context, offer agent.ID) error
	Claims(ctx context.Context) ([]access.Claim, error)
	Confirm(ctx context.Context, claim agent.ID, yes bool) error
}

// The wire forms of doors.
type (
	// ControlDoorState is who may come in, and where.
	ControlDoorState struct {
		Passphrase bool            `json:"passphrase"`          // one is set
		Here       string          `json:"here,omitempty"`      // where a browser on this machine finds Ash
		Addresses  []string        `json:"addresses,omitempty"` // where other devices reach Ash, the best first
		Devices    []ControlDevice `json:"devices"`
	}
	// ControlDevice is a device that is signed in.
	ControlDevice struct {
		ID      agent.ID   `json:"id"`
		Name    string     `json:"name"`
		Kind    string     `json:"kind"` // of browser, as its User-Agent says
		How     access.How `json:"how"`
		Address string     `json:"address"`
		Created time.Time  `json:"created"`
		Seen    time.Time  `json:"seen"`
		Expires time.Time  `json:"expires"`
	}
	// ControlPassphrase is a new passphrase.
	ControlPassphrase struct {
		Passphrase string `json:"passphrase"`
	}
	// ControlSignOut names what to sign out: a device by id or name, or all.
	ControlSignOut struct {
		Device string `json:"device,omitempty"`
		All    bool   `json:"all,omitempty"`
	}
	// ControlSignedOut tells what was signed out.
	ControlSignedOut struct {
		Names []string `json:"names,omitempty"`
		Count int      `json:"count"`
	}
	// ControlDoorOffer is an invitation for one device.
	ControlDoorOffer struct {
		ID        agent.ID  `json:"id"`
		Code      string    `json:"code"`
		Link      string    `json:"link"` // what comes after /pair/ in the address of the QR code
		Expires   time.Time `json:"expires"`
		Addresses []string  `json:"addresses,omitempty"` // where other devices reach Ash, the best first
	}
	// ControlClaim is a device that gave the code.
	ControlClaim struct {
		ID      agent.ID     `json:"id"`
		Offer   agent.ID     `json:"offer"`
		Name    string       `json:"name"`
		Kind    string       `json:"kind"`
		Address string       `json:"address"`
		Check   string       `json:"check"`
		Stage   access.Stage `json:"stage"`
		Expires time.Time    `json:"expires"`
	}
	// ControlWithdraw names an offer to end.
	ControlWithdraw struct {
		Offer agent.ID `json:"offer"`
	}
	// ControlConfirm is the person's word on a claim.
	ControlConfirm struct {
		Yes bool `json:"yes"`
	}
)

// doors adds the routes of doors to g.
func (h Control) doors(g *echo.Group) {
	if h.Doors == nil {
		return
	}
	g.GET("/doors", h.doorState)
	g.POST("/doors/passphrase", h.doorPassphrase)
	g.POST("/doors/sign-out", h.doorSignOut)
	g.POST("/doors/reset", h.doorReset)
	g.POST("/doors/offers", h.doorOffer)
	g.POST("/doors/withdraw", h.doorWithdraw)
	g.GET("/doors/claims", h.doorClaims)
	g.POST("/doors/claims/:claim", h.doorConfirm)
}

func (h Control) reach() []string {
	if h.Reach == nil {
		return nil
	}
	return h.Reach()
}

// doorState answers GET /doors.
func (h Control) doorState(c echo.Context) error {
	ctx := c.Request().Context()
	out := ControlDoorState{Here: h.Address, Addresses: h.reach(), Devices: []ControlDevice{}}
	var err error
	if out.Passphrase, err = h.Doors.HasPassphrase(ctx); err != nil {
		return err
	}
	list, err := h.Doors.Devices(ctx)
	if err != nil {
		return err
	}
	for _, d := range list {
		out.Devices = append(out.Devices, ControlDevice{
			ID: d.ID, Name: d.Name, Kind: access.AgentName(d.Agent), How: d.How, Address: d.Address, Created: d.Created, Seen: d.Seen, Expires: d.Expires,
		})
	}
	return c.JSON(http.StatusOK, out)
}

// doorPassphrase answers POST /doors/passphrase.
func (h Control) doorPassphrase(c echo.Context) error {
	var in ControlPassphrase
	if err := readControl(c, &in); err != nil {
		return err
	}
	text := []byte(in.Passphrase)
	defer clear(text)
	if err := h.Doors.ResetPassphrase(c.Request().Context(), text); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// doorSignOut answers POST /doors/sign-out.
func (h Control) doorSignOut(c echo.Context) error {
	ctx := c.Request().Context()
	var in ControlSignOut
	if err := readControl(c, &in); err != nil {
		return err
	}
	if in.All {
		n, err := h.Doors.SignOutAll(ctx, "")
		if err != nil {
			return err
		}
		return c.JSON(http.StatusOK, ControlSignedOut{Count: n})
	}
	list, err := h.Doors.Devices(ctx)
	if err != nil {
		return err
	}
	d, err := deviceNamed(list, in.Device)
	if err != nil {
		return err
	}
	if err := h.Doors.SignOut(ctx, d.ID); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, ControlSignedOut{Names: []string{d.Name}, Count: 1})
}

// deviceNamed finds the device with this id, or the only one with this name.
func deviceNamed(list []access.Device, idOrName string) (access.Device, error) {
	wanted := strings.Join(strings.Fields(idOrName), " ")
	if i := slices.IndexFunc(list, func(d access.Device) bool { return string(d.ID) == wanted }); i >= 0 {
		return list[i], nil
	}
	list = slices.DeleteFunc(slices.Clone(list), func(d access.Device) bool { return !strings.EqualFold(d.Name, wanted) })
	switch len(list) {
	case 1:
		return list[0], nil
	case 0:
		return access.Device{}, agent.Errorf(agent.CodeNotFound, "No device %q is signed in. List them with: ash doors status", agent.Clip(wanted, 80))
	}
	return access.Device{}, agent.Errorf(agent.CodeConflict, "%d devices are called %q. Give the id that ash doors status shows.", len(list), agent.Clip(wanted, 80))
}

// doorReset answers POST /doors/reset.
func (h Control) doorReset(c echo.Context) error {
	if err := h.Doors.Reset(c.Request().Context()); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// doorOffer answers POST /doors/offers.
func (h Control) doorOffer(c echo.Context) error {
	made, err := h.Doors.Offer(c.Request().Context())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusCreated, ControlDoorOffer{ID: made.ID, Code: made.Code, Link: string(made.Link), Expires: made.Expires, Addresses: h.reach()})
}

// doorWithdraw answers POST /doors/withdraw.
func (h Control) doorWithdraw(c echo.Context) error {
	var in ControlWithdraw
	if err := readControl(c, &in); err != nil {
		return err
	}
	if err := h.Doors.Withdraw(c.Request().Context(), in.Offer); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

// doorClaims answers GET /doors/claims: what is under way, the newest first.
func (h Control) doorClaims(c echo.Context) error {
	list, err := h.Doors.Claims(c.Request().Context())
	if err != nil {
		return err
	}
	out := make([]ControlClaim, 0, len(list))
	for _, x := range list {
		out = append(out, ControlClaim{
			ID: x.ID, Offer: x.Offer, Name: x.Name, Kind: access.AgentName(x.Agent), Address: x.Address, Check: x.Check, Stage: x.Stage, Expires: x.Expires,
		})
	}
	return c.JSON(http.StatusOK, out)
}

// doorConfirm answers POST /doors/claims/{claim}.
func (h Control) doorConfirm(c echo.Context) error {
	claim, err := param(c, "claim")
	if err != nil {
		return err
	}
	var in ControlConfirm
	if err := readControl(c, &in); err != nil {
		return err
	}
	if err := h.Doors.Confirm(c.Request().Context(), claim, in.Yes); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
