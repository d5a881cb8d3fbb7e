package handlers

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"
	"rsc.io/qr"

	"ash/agent"
	"ash/agent/access"
	"ash/views/components"
	"ash/views/pages"
)

// Pair answers POST /settings/doors/pair: a code for one device, as a picture and to be typed.
func (h *Doors) Pair(c echo.Context) error { return h.pair(c) }

func (h *Doors) pair(c echo.Context) error {
	places := h.places(c)
	if len(places) == 0 {
		return agent.Errorf(agent.CodeConflict, "No other device reaches this Ash yet: open it to your network first.")
	}
	offer, err := h.Pairing.Offer(c.Request().Context())
	if err != nil {
		return err
	}
	pairing := pages.Pairing{
		CSRF: Token(c), Offer: offer.ID, Code: offer.Code, Until: offer.Expires.Unix(), Lasts: span(offer.Expires.Sub(h.Now())),
		Link: places[0] + "/pair/" + string(offer.Link), Place: places[0] + "/pair", Others: places[1:],
	}
	if pairing.QR, err = qrOf(pairing.Link); err != nil {
		return err
	}
	return h.showPairing(c, pairing)
}

// showPairing answers with the panel, or with the page that has it.
func (h *Doors) showPairing(c echo.Context, p pages.Pairing, more ...templ.Component) error {
	if ByHTMX(c) {
		return render(c, http.StatusOK, append([]templ.Component{p.Panel()}, more...)...)
	}
	return h.show(c, http.StatusOK, func(page *pages.Doors) { page.Pairing = &p })
}

// places are the addresses that a phone may reach Ash at, the best first: the one that this very page was reached at, unless that
// is this machine's own.
func (h *Doors) places(c echo.Context) []string {
	places := h.Network.State().Reachable()
	if VisitorOf(c).Here {
		return places
	}
	this := c.Scheme() + "://" + c.Request().Host
	return append([]string{this}, slices.DeleteFunc(places, func(p string) bool { return p == this })...)
}

// qrOf draws a link. The level of correction is the lowest: a screen is not scratched, and fewer squares are easier to see.
func qrOf(link string) (components.QR, error) {
	code, err := qr.Encode(link, qr.L)
	if err != nil {
		return components.QR{}, agent.Wrap(agent.CodeInternal, err, "The picture of the code could not be drawn. Type the code instead.")
	}
	var path strings.Builder
	for y := range code.Size {
		for x := 0; x < code.Size; x++ {
			run := 0
			for x+run < code.Size && code.Black(x+run, y) {
				run++
			}
			if run > 0 {
				path.WriteString("M" + strconv.Itoa(x) + " " + strconv.Itoa(y) + "h" + strconv.Itoa(run) + "v1h-" + strconv.Itoa(run) + "z")
				x += run
			}
		}
	}
	return components.QR{Size: code.Size, Path: path.String()}, nil
}

// Claims answers GET /settings/doors/claims?offer=&stage=&until=, which the panel asks again and again: nothing (204) while all is as the
// panel shows it.
func (h *Doors) Claims(c echo.Context) error {
	if !ByHTMX(c) {
		return see(c, "/settings/doors")
	}
	p, err := h.underWay(c, c.QueryParam("offer"))
	if err != nil {
		return err
	}
	if p == nil {
		until, err := strconv.ParseInt(c.QueryParam("until"), 10, 64)
		if err == nil && h.Now().Before(time.Unix(until, 0)) {
			return c.NoContent(http.StatusNoContent)
		}
		p = &pages.Pairing{CSRF: Token(c), Over: true}
	}
	if p.Stage == c.QueryParam("stage") && !p.Over {
		return c.NoContent(http.StatusNoContent)
	}
	return h.showStage(c, *p)
}

// showStage answers with the panel, and when a device has come in, with the list that has it.
func (h *Doors) showStage(c echo.Context, p pages.Pairing) error {
	if p.Stage != string(access.StageCollected) || !ByHTMX(c) {
		return h.showPairing(c, p)
	}
	list, err := h.devices(c)
	if err != nil {
		return err
	}
	return h.showPairing(c, p, components.StreamComponent("devices", components.SwapReplace, pages.DeviceList(list, Token(c))))
}

// underWay presents the claim of an offer, or, where none is named, the newest that waits; nil when there is none.
func (h *Doors) underWay(c echo.Context, offer string) (*pages.Pairing, error) {
	claims, err := h.Pairing.Claims(c.Request().Context())
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(claims, func(x access.Claim) bool {
		return string(x.Offer) == offer || offer == "" && x.Stage == access.StageWaiting
	})
	if i < 0 {
		return nil, nil
	}
	x := claims[i]
	return &pages.Pairing{
		CSRF: Token(c), Offer: x.Offer, Claim: x.ID, Stage: string(x.Stage), Until: x.Expires.Unix(),
		Name: visible(x.Name), What: access.AgentName(x.Agent), Address: x.Address, Check: x.Check,
	}, nil
}

// Confirm answers POST /settings/doors/claims/{claim}: answer=yes|no, offer.
func (h *Doors) Confirm(c echo.Context) error {
	claim, err := param(c, "claim")
	if err != nil {
		return err
	}
	answer, err := line(c, "answer", 10)
	if err != nil {
		return err
	}
	if answer != "yes" && answer != "no" {
		return agent.Errorf(agent.CodeInvalid, "Say yes or no to this device.")
	}
	offer, err := line(c, "offer", 100)
	if err != nil {
		return err
	}
	err = h.Pairing.Confirm(c.Request().Context(), claim, answer == "yes")
	if err != nil && agent.CodeOf(err) != agent.CodeConflict { // decided already: the panel shows how
		return err
	}
	if !ByHTMX(c) {
		return see(c, "/settings/doors?offer="+url.QueryEscape(offer))
	}
	p, err := h.underWay(c, offer)
	if err != nil {
		return err
	}
	if p == nil {
		p = &pages.Pairing{CSRF: Token(c), Over: true}
	}
	return h.showStage(c, *p)
}
