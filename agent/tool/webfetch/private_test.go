package webfetch

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/egress"
	"ash/agent/egress/egresstest"
	"ash/agent/tool"
)

// TestNoPrivateAddressIsFetched: whatever a model writes as a URL, and wherever a page sends its reader, nothing of this machine or its networks is connected to.
func TestNoPrivateAddressIsFetched(t *testing.T) {
	house := egresstest.NewHouse(t)
	names := egresstest.NewNames(t, egresstest.Lies())
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to := r.URL.Query().Get("to")
		switch r.URL.Path {
		case "/redirect":
			w.Header()["Location"] = []string{to}
			w.WriteHeader(http.StatusMovedPermanently)
		case "/refresh":
			w.Header()["Refresh"] = []string{"0; url=" + to}
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte(`<meta http-equiv=refresh content="0;url=` + to + `"><link rel=stylesheet href="` + to + `"><iframe src="` + to + `"></iframe><img src="` + to + `"><p>Words.`))
		}
	}))
	defer page.Close()
	own := netip.MustParseAddrPort(page.Listener.Addr().String())
	g := egress.New(egress.Options{Resolver: names.Resolver(), AllowTest: func(a netip.AddrPort) bool { return a == own }})
	w := New(Options{Client: g.Client(egress.Limits{Time: 5 * time.Second})})
	fetched := 0
	for _, host := range slices.Concat(egresstest.Spellings(), slices.Sorted(maps.Keys(egresstest.Lies()))) {
		private := "http://" + house.At(host) + "/"
		for _, u := range []string{private, "https://" + house.At(host) + "/", page.URL + "/redirect?to=" + url.QueryEscape(private), page.URL + "/refresh?to=" + url.QueryEscape(private)} {
			raw, err := json.Marshal(Arguments{URL: u})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Plan(t.Context(), tool.Env{}, raw); err != nil {
				continue // refused before anybody was asked
			}
			out, err := w.Run(t.Context(), tool.Env{}, raw, func(string) {})
			if house.Hits() != 0 {
				t.Fatalf("%q was connected to: %v %v", u, out.Content, err)
			}
			if err == nil && !out.Failed {
				fetched++
				if len(out.Content) == 0 || u == private {
					t.Errorf("%q: %v", u, agent.Clip(u, 100))
				}
			}
		}
	}
	if fetched == 0 {
		t.Error("not even the page itself was fetched: the test shows nothing")
	}
}
