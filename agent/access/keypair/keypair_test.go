package keypair

import (
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/access/localca"
)

// issued writes a certificate with its key into two files, as an authority of a person's own gives them.
func issued(t *testing.T, dir, name string, now time.Time) Files {
	t.Helper()
	a, err := localca.New("box", now)
	if err != nil {
		t.Fatal(err)
	}
	text, err := a.Issue([]string{name}, []netip.Addr{netip.MustParseAddr("192.168.1.5")}, now)
	if err != nil {
		t.Fatal(err)
	}
	cert, key, _ := strings.Cut(string(text), "-----BEGIN PRIVATE")
	f := Files{filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")}
	write(t, f.Certificate, cert, 0o644)
	write(t, f.Key, "-----BEGIN PRIVATE"+key, 0o600)
	return f
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	now, dir := time.Now(), t.TempDir()
	good, other, old := issued(t, dir, "box.local", now), issued(t, dir, "other.local", now), issued(t, dir, "old.local", now.AddDate(-2, 0, 0))
	young := issued(t, dir, "young.local", now.AddDate(0, 1, 0))
	in := func(name string) string { return filepath.Join(dir, name) }
	text := func(path string) string {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	write(t, in("both.pem"), text(good.Key)+text(good.Certificate), 0o600)
	write(t, in("both-open.pem"), text(good.Key)+text(good.Certificate), 0o644)
	write(t, in("open.key"), text(good.Key), 0o644)
	write(t, in("group.key"), text(good.Key), 0o640)
	write(t, in("half.crt"), text(good.Certificate)[:200], 0o644)
	write(t, in("odd.crt"), "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", 0o644)
	write(t, in("odd.key"), "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", 0o600)
	write(t, in("empty"), "", 0o600)
	write(t, in("large"), strings.Repeat("x", maxFile+1), 0o600)
	for name, x := range map[string]struct {
		files Files
		want  string // part of what is said; "" for a good pair
		pair  bool   // there is one all the same
	}{
		"two files":               {files: good},
		"one file":                {files: Files{Certificate: in("both.pem")}},
		"no certificate named":    {files: Files{Key: good.Key}, want: "Name the file of the certificate"},
		"nothing there":           {files: Files{in("nowhere"), good.Key}, want: "There is no file"},
		"no key there":            {files: Files{good.Certificate, in("nowhere")}, want: "There is no file"},
		"a folder":                {files: Files{dir, good.Key}, want: "is not a file"},
		"empty":                   {files: Files{in("empty"), good.Key}, want: "no certificate in"},
		"large":                   {files: Files{in("large"), good.Key}, want: "too large"},
		"half":                    {files: Files{in("half.crt"), good.Key}, want: "no certificate in"},
		"damaged":                 {files: Files{in("odd.crt"), good.Key}, want: "cannot be read"},
		"damaged key":             {files: Files{good.Certificate, in("odd.key")}, want: "cannot be used"},
		"the key as certificate":  {files: Files{good.Key, good.Key}, want: "no certificate in"},
		"the certificate as key":  {files: Files{Certificate: good.Certificate, Key: in("both.pem")}},
		"another's key":           {files: Files{good.Certificate, other.Key}, want: "belongs to another certificate"},
		"a key for everybody":     {files: Files{good.Certificate, in("open.key")}, want: "chmod 600"},
		"one's own for the group": {files: Files{good.Certificate, in("group.key")}, want: "chmod 600"},
		"one file for everybody":  {files: Files{Certificate: in("both-open.pem")}, want: "chmod 600"},
		"certificate, and no key": {files: Files{Certificate: good.Certificate}, want: "chmod 600"},
		"over":                    {files: old, want: "ended on", pair: true},
		"not good yet":            {files: young, want: "not good before", pair: true},
	} {
		if runtime.GOOS == "windows" && x.want == "chmod 600" {
			continue
		}
		pair, err := Load(x.files, now)
		switch {
		case (err == nil) != (x.want == ""):
			t.Errorf("%s: %v", name, err)
		case err != nil && (agent.CodeOf(err) != agent.CodeInvalid || !strings.Contains(agent.PublicOf(err), x.want)):
			t.Errorf("%s: %s, want %q", name, agent.PublicOf(err), x.want)
		case (pair != nil) != (x.want == "" || x.pair):
			t.Errorf("%s: pair %v", name, pair != nil)
		case pair != nil && pair.Leaf == nil:
			t.Errorf("%s: nobody looked into it", name)
		}
		if err != nil && strings.Contains(err.Error(), "PRIVATE KEY-----\nM") {
			t.Errorf("%s: the error has the key", name)
		}
	}
}

func TestStamp(t *testing.T) {
	t.Parallel()
	f := issued(t, t.TempDir(), "box.local", time.Now())
	seen := map[string]bool{f.Stamp(): true}
	if !seen[f.Stamp()] {
		t.Error("it changes by itself")
	}
	for _, x := range []struct {
		name   string
		change func() error
	}{
		{"mode", func() error { return os.Chmod(f.Key, 0o400) }},
		{"time", func() error { return os.Chtimes(f.Certificate, time.Time{}, time.Now().Add(time.Minute)) }},
		{"no key", func() error { return os.Remove(f.Key) }},
		{"neither", func() error { return os.Remove(f.Certificate) }},
	} {
		if err := x.change(); err != nil {
			t.Fatal(err)
		}
		if s := f.Stamp(); seen[s] {
			t.Errorf("not seen: %s", x.name)
		} else {
			seen[s] = true
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"))
	f.Add([]byte("-----BEGIN X PRIVATE KEY-----\n\n-----END X PRIVATE KEY-----"))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "pair.pem")
		write(t, path, string(text), 0o600)
		if pair, err := Load(Files{Certificate: path}, time.Now()); (pair == nil) && err == nil || err != nil && agent.CodeOf(err) != agent.CodeInvalid {
			t.Errorf("%v, %v", pair, err)
		}
	})
}
