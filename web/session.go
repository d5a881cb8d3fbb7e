package web

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/gorilla/securecookie"
	"github.com/gorilla/sessions"
	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/handlers"
)

const (
	keyFile       = "session.key"
	keySize       = 64 // bytes; gorilla/securecookie's advice for HMAC-SHA256
	sessionAge    = 365 * 24 * time.Hour
	sessionRenew  = 7 * 24 * time.Hour
	sessionToken  = "token"  // the CSRF token, text
	sessionIssued = "issued" // Unix seconds
)

// jar gives each browser its cookies, which page scripts cannot read and other sites cannot send: a signed one with the CSRF
// token, and one that names the session of a device that is signed in.
type jar struct {
	name    string
	key     []byte
	store   *sessions.CookieStore
	devices *deviceStore
	now     func() time.Time
}

// newJar reads the signing key in home, making it on the first start. Cookies
// are shared by all ports of a host, so the cookie's name is derived from the
// key: two homes served side by side do not sign each other's browser out.
func newJar(home string, doors Doors) (*jar, error) {
	key, err := sessionKey(filepath.Join(home, keyFile))
	if err != nil {
		return nil, err
	}
	store := sessions.NewCookieStore(key)
	store.MaxAge(int(sessionAge.Seconds()))
	sum := sha256.Sum256(key)
	codec := securecookie.New(key, nil)
	codec.MaxAge(int(deviceAge.Seconds()))
	return &jar{
		name: "ash-" + hex.EncodeToString(sum[:4]), key: key, store: store, now: time.Now,
		devices: &deviceStore{doors: doors, codecs: []securecookie.Codec{codec}},
	}, nil
}

// sessionKey reads or makes the key. The file is linked into place, so of two
// processes that make it at once both end with the same key.
func sessionKey(path string) ([]byte, error) {
	if key, err := readKey(path); !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	key := make([]byte, keySize)
	if _, err := rand.Read(key); err != nil {
		return nil, agent.Wrap(agent.CodeInternal, err, "No random numbers for the session key.")
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), keyFile+".*") // mode 0600
	if err != nil {
		return nil, agent.Wrap(agent.CodeUnavailable, err, "The session key could not be written to %s.", path)
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // gone already, or left over from a failure told below
	_, err = tmp.Write(key)
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Link(tmp.Name(), path)
	}
	if errors.Is(err, fs.ErrExist) {
		return readKey(path)
	}
	if err != nil {
		// Some file systems have no hard links; a rename is the next best.
		if rename := os.Rename(tmp.Name(), path); rename != nil {
			return nil, agent.Wrap(agent.CodeUnavailable, errors.Join(err, rename), "The session key could not be written to %s.", path)
		}
	}
	return key, nil
}

// readKey reads a key that only its owner may read.
func readKey(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // opening a pipe would wait for its writer
		return nil, agent.Errorf(agent.CodeInvalid, "%s is not an ordinary file. Delete it; a new one is made at the next start.", path)
	}
	if unsafeMode(info.Mode()) {
		return nil, agent.Errorf(agent.CodeDenied, "%s may be read by others (%v). Delete it; a new one is made at the next start.", path, info.Mode().Perm())
	}
	key, err := os.ReadFile(path)
	if err != nil {
		return nil, agent.Wrap(agent.CodeUnavailable, err, "The session key %s cannot be read.", path)
	}
	if len(key) != keySize {
		return nil, agent.Errorf(agent.CodeInvalid, "%s is damaged (%d bytes instead of %d). Delete it; a new one is made at the next start.", path, len(key), keySize)
	}
	return key, nil
}

// tokenOf returns the CSRF token of a device that is signed in. It is made of the device, so that a token from before
// the sign-in, which somebody else may know, is worth nothing after it.
func (j *jar) tokenOf(device agent.ID) string {
	mac := hmac.New(sha256.New, j.key)
	mac.Write([]byte("csrf\x00" + device)) // writing to a hash does not fail
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// open finds the browser's session, or begins one, and renews it now and then.
func (j *jar) open(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if fromSocket(r) {
			return next(c)
		}
		if id := handlers.VisitorOf(c).Device.ID; id != "" {
			handlers.SetToken(c, j.tokenOf(id))
			return next(c)
		}
		// New, not Get: the registry behind Get would only cache within this one request.
		s, err := j.store.New(r, j.cookieName(r, ""))
		if err != nil { // signed by another key, damaged or too old: begin anew
			s.Values, err = map[any]any{}, nil
		}
		token, _ := s.Values[sessionToken].(string)
		issued, _ := s.Values[sessionIssued].(int64)
		switch {
		case token == "" && !safe(r.Method): // never begun by a change: guardForms refuses it
		case token == "" && r.Header.Get("Sec-Fetch-Site") == "cross-site":
			return bounce(c)
		case token == "":
			token = rand.Text()
			err = j.save(c, s, token)
		case j.now().Sub(time.Unix(issued, 0)) > sessionRenew:
			err = j.save(c, s, token)
		}
		if err != nil {
			return err
		}
		handlers.SetToken(c, token)
		return next(c)
	}
}

func (j *jar) save(c echo.Context, s *sessions.Session, token string) error {
	s.Values[sessionToken] = token
	s.Values[sessionIssued] = j.now().Unix()
	s.Options = cookieOptions(c.Request(), sessionAge)
	if err := s.Save(c.Request(), c.Response()); err != nil {
		return fmt.Errorf("session cookie: %w", err)
	}
	return nil
}

// bounce answers a link on another site. The browser holds a strict cookie back
// on such a request, and beginning a new session would replace the one that
// open tabs use; a page of ours that opens the same address again brings it.
func bounce(c echo.Context) error {
	return c.HTML(http.StatusOK, `<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0"><title>Ash</title><a href="">Open Ash</a>`)
}

// guardForms demands the session's token on everything that changes something,
// in the header X-CSRF-Token or the form field _csrf.
func guardForms(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if safe(r.Method) || fromSocket(r) {
			return next(c)
		}
		if err := formMedia(r); err != nil {
			return err
		}
		given := r.Header.Get("X-CSRF-Token")
		if given == "" {
			var err error
			if given, err = formToken(r); err != nil {
				return err
			}
		}
		if want := handlers.Token(c); want == "" || subtle.ConstantTimeCompare([]byte(given), []byte(want)) != 1 {
			return agent.Errorf(agent.CodeDenied, "This page is too old to be used: it belongs to another session. Copy what you wrote, reload the page and try again.")
		}
		return next(c)
	}
}

// formToken reads the form; r's body has been limited before.
func formToken(r *http.Request) (string, error) {
	if err := handlers.ParseForm(r); err != nil {
		return "", err
	}
	return r.PostForm.Get("_csrf"), nil
}

// formMedia refuses what no form of ours sends: a body of another kind is how other sites smuggle JSON past a browser's checks.
func formMedia(r *http.Request) error {
	media := r.Header.Get(echo.HeaderContentType)
	if media == "" && r.ContentLength == 0 {
		return nil
	}
	kind, _, err := mime.ParseMediaType(media)
	if err == nil && (kind == echo.MIMEApplicationForm || kind == echo.MIMEMultipartForm) {
		return nil
	}
	return &handlers.StatusError{Status: http.StatusUnsupportedMediaType, Public: "Ash takes forms here, and nothing else."}
}
