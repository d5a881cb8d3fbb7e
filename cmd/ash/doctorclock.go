package main

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"ash/agent/doctor"
	"ash/store"
)

// times gathers what the clock is compared with: at most two servers of providers are asked for their time, without a key.
func (e *eyes) times(ctx context.Context, look lookAt) (doctor.Times, error) {
	t := doctor.Times{Built: built()}
	if h, err := store.Inspect(ctx, databasePath(e.home), false); err == nil {
		t.Stored = h.Newest
	}
	if look.Offline || e.providers == nil {
		return t, nil
	}
	for _, s := range e.providers.Status() {
		if s.Settings.Local() || len(t.Asked) == 2 {
			continue
		}
		if asked, ok := askTime(ctx, s.Settings.BaseURL); ok {
			t.Asked = append(t.Asked, asked)
		}
	}
	return t, nil
}

// askTime reads the clock of a server from the Date of an answer, whatever it answers. No key and no name is sent.
func askTime(ctx context.Context, address string) (doctor.Asked, bool) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return doctor.Asked{}, false
	}
	ctx, cancel := context.WithTimeout(ctx, 4*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/"}).String(), nil)
	if err != nil {
		return doctor.Asked{}, false
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	began := time.Now()
	res, err := client.Do(req)
	if err != nil {
		return doctor.Asked{}, false
	}
	_ = res.Body.Close() // a HEAD has none
	said, err := http.ParseTime(res.Header.Get("Date"))
	took := time.Since(began)
	if err != nil {
		return doctor.Asked{}, false
	}
	return doctor.Asked{Host: u.Hostname(), Said: said, Moment: began.Add(took / 2).UTC()}, true
}

// built is when this program was made, as far as it knows.
func built() time.Time {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return time.Time{}
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.time" {
			if t, err := time.Parse(time.RFC3339, s.Value); err == nil {
				return t
			}
		}
	}
	return time.Time{}
}

// zone finds out the time zone. Go takes UTC without a word for a TZ that names none.
func zone(context.Context) (doctor.Zones, error) {
	name, set := os.LookupEnv("TZ")
	name = strings.TrimPrefix(name, ":")
	if set && name != "" {
		if _, err := time.LoadLocation(name); err != nil && !filepath.IsAbs(name) {
			return doctor.Zones{Wrong: name}, nil
		}
		return doctor.Zones{Name: name}, nil
	}
	if set {
		return doctor.Zones{Name: "UTC"}, nil
	}
	if link, err := os.Readlink("/etc/localtime"); err == nil {
		if _, zone, ok := strings.Cut(link, "zoneinfo/"); ok {
			return doctor.Zones{Name: zone}, nil
		}
	}
	if _, err := os.Stat("/etc/localtime"); errors.Is(err, fs.ErrNotExist) && time.Local.String() == "UTC" {
		return doctor.Zones{Unknown: true}, nil
	}
	short, _ := time.Now().Zone()
	return doctor.Zones{Name: short}, nil
}
