package web

import (
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/securecookie"
	"github.com/gorilla/sessions"
	"github.com/labstack/echo/v4"

	"ash/agent"
	token "ash/agent/access" // access is the log of requests here
)

const (
	deviceAge = 400 * 24 * time.Hour // of the cookie, the longest that browsers keep one; the session behind it ends when Doors say so
	claimAge  = 10 * time.Minute     // of what a browser that is being paired holds

	deviceValue = "device" // the value of a device's session: token.Device
	secretBytes = 200      // nothing that is kept is longer
)

// deviceStore is the store of the sessions of devices (gorilla/sessions). The cookie holds the secret that names the session,
// and nothing else; all that belongs to it lies behind Doors, so that signing a device out ends it at once.
type deviceStore struct {
	doors  Doors
	codecs []securecookie.Codec
}

// Get implements sessions.Store: the session is looked up once in a request.
func (d *deviceStore) Get(r *http.Request, name string) (*sessions.Session, error) {
	return sessions.GetRegistry(r).Get(d, name)
}

// New implements sessions.Store. A session that there is not is new, with the secret that the browser brought as its ID.
func (d *deviceStore) New(r *http.Request, name string) (*sessions.Session, error) {
	s := sessions.NewSession(d, name)
	s.IsNew = true
	cookie, err := r.Cookie(name)
	if err != nil || d.doors == nil {
		return s, nil //nolint:nilerr // no cookie is no session
	}
	id, ok := d.open(name, cookie.Value)
	if !ok {
		return s, nil
	}
	s.ID = id
	device, err := d.doors.Session(r.Context(), token.Secret(s.ID), peer(r))
	switch {
	case agent.CodeOf(err) == agent.CodeDenied:
		return s, nil
	case err != nil:
		return s, err
	}
	s.Values[deviceValue], s.IsNew = device, false
	return s, nil
}

// open reads the value of a cookie; ok is false when it is of another key, damaged or too old.
func (d *deviceStore) open(name, value string) (id string, ok bool) {
	err := securecookie.DecodeMulti(name, value, &id, d.codecs...)
	return id, err == nil && id != "" && len(id) <= secretBytes
}

// Save implements sessions.Store. It writes the cookie that names the session; a MaxAge below 0 takes it away.
func (d *deviceStore) Save(r *http.Request, w http.ResponseWriter, s *sessions.Session) error {
	value := ""
	if s.Options.MaxAge >= 0 {
		var err error
		if value, err = securecookie.EncodeMulti(s.Name(), s.ID, d.codecs...); err != nil {
			return err
		}
	}
	http.SetCookie(w, sessions.NewCookie(s.Name(), value, s.Options))
	return nil
}

const (
	devicePart = "-device"
	claimPart  = "-pair"
	claimGap   = "\n" // between the secret of a claim and its check
)

// cookieName is the name of one of our cookies. Over HTTPS its prefix makes browsers refuse one that was set by anything but
// this host over HTTPS (RFC 6265bis, 4.1.3.2).
func (j *jar) cookieName(r *http.Request, part string) string {
	if encrypted(r) {
		return "__Host-" + j.name + part
	}
	return j.name + part
}

func cookieOptions(r *http.Request, age time.Duration) *sessions.Options {
	return &sessions.Options{Path: "/", MaxAge: int(age.Seconds()), Secure: encrypted(r), HttpOnly: true, SameSite: http.SameSiteStrictMode}
}

// device returns the device that the browser is signed in as, the zero one for none. A secret that has served for long
// is replaced when a page is opened: what a page asks for beside it may overtake its cookie.
func (j *jar) device(c echo.Context) (token.Device, error) {
	r := c.Request()
	s, err := j.devices.New(r, j.cookieName(r, devicePart))
	if err != nil || s.IsNew {
		return token.Device{}, err
	}
	d, _ := s.Values[deviceValue].(token.Device)
	if !d.Rotate || r.Method != http.MethodGet || !asksForPage(r) {
		return d, nil
	}
	switch fresh, err := j.devices.doors.Rotate(r.Context(), token.Secret(s.ID)); {
	case err == nil:
		return d, j.Keep(c, fresh)
	case agent.CodeOf(err) == agent.CodeDenied || agent.CodeOf(err) == agent.CodeConflict:
		return d, nil // another tab did it in this moment, and its cookie is on its way
	default:
		return d, err
	}
}

// Keep implements handlers.Keeper.
func (j *jar) Keep(c echo.Context, secret token.Secret) error {
	return j.put(c, devicePart, string(secret), deviceAge)
}

// Drop implements handlers.Keeper.
func (j *jar) Drop(c echo.Context) error { return j.put(c, devicePart, "", -time.Second) }

// KeepClaim implements handlers.Keeper; "" takes it away.
func (j *jar) KeepClaim(c echo.Context, secret token.Secret, check string) error {
	if secret == "" {
		return j.put(c, claimPart, "", -time.Second)
	}
	return j.put(c, claimPart, string(secret)+claimGap+check, claimAge)
}

// Former implements handlers.Keeper.
func (j *jar) Former(c echo.Context) token.Secret { return token.Secret(j.value(c, devicePart)) }

// Claim implements handlers.Keeper.
func (j *jar) Claim(c echo.Context) (token.Secret, string) {
	secret, check, _ := strings.Cut(j.value(c, claimPart), claimGap)
	return token.Secret(secret), check
}

func (j *jar) put(c echo.Context, part, value string, age time.Duration) error {
	r := c.Request()
	s := sessions.NewSession(j.devices, j.cookieName(r, part))
	s.ID, s.Options = value, cookieOptions(r, age)
	if err := s.Save(r, c.Response()); err != nil {
		return agent.Wrap(agent.CodeInternal, err, "The cookie of this session could not be made. Try again.")
	}
	return nil
}

// value reads a cookie that put wrote; "" for none, and for one that is not ours.
func (j *jar) value(c echo.Context, part string) string {
	name := j.cookieName(c.Request(), part)
	cookie, err := c.Request().Cookie(name)
	if err != nil {
		return ""
	}
	value, ok := j.devices.open(name, cookie.Value)
	if !ok {
		return ""
	}
	return value
}
