package web

import (
	"errors"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	token "ash/agent/access" // access is the log of requests here
	"ash/handlers"
)

// bearer lets in whoever presents a token (RFC 6750, 2.1). It stands before every operation of the API, in the place of session and
// CSRF token: what needs a header that no browser sends by itself cannot be done in a person's name from another page.
// Cookies are not looked at, as no page looks at the token.
//
// A missing, broken, unknown, expired or revoked token is answered alike.
func bearer(tokens handlers.Authenticator) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			r := c.Request()
			secret, ok := secretOf(r.Header)
			if !ok {
				return errToken(c)
			}
			from, err := netip.ParseAddrPort(r.RemoteAddr)
			if err != nil { // the unix socket has none: all of it is one
				from = netip.AddrPort{}
			}
			who, err := tokens.Authenticate(r.Context(), secret, from.Addr())
			var refused *token.Refused
			switch {
			case errors.As(err, &refused) && refused.Wait > 0:
				seconds := strconv.Itoa(int(math.Ceil(refused.Wait.Seconds())))
				c.Response().Header().Set(echo.HeaderRetryAfter, seconds)
				return &handlers.StatusError{
					Status: http.StatusTooManyRequests,
					Public: "There were too many attempts with tokens that are not usable. Try again in " + seconds + " seconds.",
				}
			case refused != nil:
				return errToken(c)
			case err != nil:
				return err
			}
			handlers.SetCaller(c, who)
			return next(c)
		}
	}
}

// secretOf reads the token from the one header it may stand in.
func secretOf(h http.Header) (token.Secret, bool) {
	given := h.Values(echo.HeaderAuthorization)
	if len(given) != 1 {
		return "", false
	}
	scheme, secret, ok := strings.Cut(given[0], " ")
	return token.Secret(strings.TrimSpace(secret)), ok && strings.EqualFold(scheme, "Bearer")
}

func errToken(c echo.Context) error {
	c.Response().Header().Set(echo.HeaderWWWAuthenticate, `Bearer realm="ash"`)
	return &handlers.StatusError{Status: http.StatusUnauthorized, Public: "This needs a token that is usable: Authorization: Bearer and the token. Make one with: ash token new."}
}
