package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

var update = flag.Bool("update", false, "make the screenshots in docs/screenshots anew")

// rig is what all tests share: the binary, and one browser in which each test has its own profile.
var rig struct {
	missing  string // why there is no browser; "" when there is one
	binary   string
	chromium string // its path
	browser  context.Context
}

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	if testing.Short() {
		rig.missing = "browser tests take a while; they do not run with -short"
		return m.Run(), nil
	}
	chromium, ok := findChromium()
	if !ok {
		rig.missing = "the browser tests need Chromium: install it (Debian and Ubuntu: apt-get install chromium), or put the path of a Chrome into CHROMIUM"
		return m.Run(), nil
	}
	dir, err := os.MkdirTemp("", "ash-e2e-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if rig.binary, err = build(dir); err != nil {
		return 1, err
	}
	rig.chromium = chromium
	browser, shut, err := openBrowser(chromium, filepath.Join(dir, "profile"))
	if err != nil {
		return 1, err
	}
	defer shut()
	rig.browser = browser
	return m.Run(), nil
}

// needBrowser skips a test that cannot run here, or fails it where it has to.
func needBrowser(t *testing.T) {
	t.Helper()
	if rig.missing == "" {
		return
	}
	required := strings.FieldsFunc(os.Getenv("ASH_TEST_REQUIRE"), func(r rune) bool { return r == ',' || r == ' ' })
	if slices.Contains(required, "chromium") && !testing.Short() {
		t.Fatal(rig.missing)
	}
	t.Skip(rig.missing)
}

func findChromium() (string, bool) {
	if path := os.Getenv("CHROMIUM"); path != "" {
		return path, true
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome-stable", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, true
		}
	}
	return "", false
}

// build makes the binary that the tests run. ASH_TEST_BINARY names one that is already there.
func build(dir string) (string, error) {
	if path := os.Getenv("ASH_TEST_BINARY"); path != "" {
		return filepath.Abs(path)
	}
	binary := filepath.Join(dir, "ash")
	cmd := exec.Command("go", "build", "-o", binary, "ash/cmd/ash")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building ash: %w\n%s", err, out)
	}
	return binary, nil
}

// openBrowser starts a Chromium: the one of the run, or one that a test needs to be different by more options.
func openBrowser(path, profile string, more ...chromedp.ExecAllocatorOption) (browser context.Context, shut func(), err error) {
	quiet := func(string, ...any) {} // chromedp tells of protocol events newer than itself
	options := slices.Concat(chromedp.DefaultExecAllocatorOptions[:], []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.UserDataDir(profile), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("hide-scrollbars", true),
		chromedp.Flag("lang", "en"),
		chromedp.Flag("blink-settings", "primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4"), // as with a mouse
	}, more)
	allocator, endAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	browser, endBrowser := chromedp.NewContext(allocator, chromedp.WithErrorf(quiet))
	shut = func() { endBrowser(); endAllocator() }
	if err := chromedp.Run(browser); err != nil {
		shut()
		return nil, nil, fmt.Errorf("starting %s: %w", path, err)
	}
	return browser, shut, nil
}
