//go:build unix

package config

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"ash/agent"
)

func TestFileRefused(t *testing.T) {
	tests := map[string]struct {
		make func(t *testing.T, path string)
		code agent.Code
		text string
	}{
		"folder":   {func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o700)) }, agent.CodeInvalid, "is a folder"},
		"link":     {func(t *testing.T, path string) { must(t, os.Symlink("/etc/hosts", path)) }, agent.CodeInvalid, "is a link"},
		"dangling": {func(t *testing.T, path string) { must(t, os.Symlink("nowhere", path)) }, agent.CodeInvalid, "is a link"},
		"pipe":     {func(t *testing.T, path string) { must(t, syscall.Mkfifo(path, 0o600)) }, agent.CodeInvalid, "not an ordinary file"},
		"writable": {func(t *testing.T, path string) { write(t, path, ""); must(t, os.Chmod(path, 0o622)) }, agent.CodeDenied, "chmod 600"},
		"large":    {func(t *testing.T, path string) { write(t, path, strings.Repeat("#\n", MaxFile)) }, agent.CodeInvalid, "larger than 256 KiB"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := home(t, "")
			test.make(t, o.Path())
			_, err := Load(o)
			if agent.CodeOf(err) != test.code || !strings.Contains(agent.PublicOf(err), test.text) {
				t.Errorf("loading: %v", err)
			}
			_, err = Edit(context.Background(), o, "", []Change{{Key: "log.level", Value: "debug"}})
			if agent.CodeOf(err) != test.code {
				t.Errorf("editing: %v", err)
			}
		})
	}
}

func TestFileReadableByOthers(t *testing.T) {
	o := home(t, "[log]\n")
	must(t, os.Chmod(o.Path(), 0o644))
	if _, err := Edit(context.Background(), o, "", []Change{{Key: "log.level", Value: "debug"}}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(o.Path())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("saved with mode %v, %v", info.Mode(), err)
	}
}

func TestHome(t *testing.T) {
	unset := func(string) (string, bool) { return "", false }
	dir := t.TempDir()
	path := filepath.Join(dir, "deep", "home")
	got, err := Home(path, unset)
	if err != nil || got != path {
		t.Fatalf("got %s, %v", got, err)
	}
	checkMode(t, path, 0o700)

	variable := filepath.Join(dir, "variable")
	env := func(name string) (string, bool) { return variable, name == HomeVariable }
	if got, err := Home("", env); err != nil || got != variable {
		t.Errorf("ASH_HOME: %s, %v", got, err)
	}
	if got, err := Home(path, env); err != nil || got != path {
		t.Errorf("the flag goes first: %s, %v", got, err)
	}
	t.Setenv("HOME", dir)
	if got, err := Home("", unset); err != nil || got != filepath.Join(dir, ".ash") {
		t.Errorf("the default: %s, %v", got, err)
	}
	t.Chdir(dir)
	if got, err := Home("relative", unset); err != nil || !filepath.IsAbs(got) {
		t.Errorf("relative: %s, %v", got, err)
	}

	must(t, os.Chmod(path, 0o755))
	if _, err := Home(path, unset); err != nil {
		t.Errorf("an empty folder: %v", err)
	}
	checkMode(t, path, 0o700)

	must(t, os.Chmod(path, 0o755))
	write(t, filepath.Join(path, "letter.txt"), "")
	if _, err := Home(path, unset); agent.CodeOf(err) != agent.CodeDenied {
		t.Errorf("somebody's folder: %v", err)
	}
	checkMode(t, path, 0o755)
	write(t, filepath.Join(path, FileName), "")
	if _, err := Home(path, unset); err != nil {
		t.Errorf("Ash's own folder: %v", err)
	}
	checkMode(t, path, 0o700)

	file := filepath.Join(dir, "file")
	write(t, file, "")
	if _, err := Home(file, unset); agent.CodeOf(err) != agent.CodeInvalid {
		t.Errorf("a file: %v", err)
	}
	if _, err := Home(filepath.Join(file, "below"), unset); err == nil {
		t.Error("below a file")
	}
	t.Setenv("HOME", "")
	if _, err := Home("", unset); agent.CodeOf(err) != agent.CodeInvalid {
		t.Errorf("no home at all: %v", err)
	}
}

func checkMode(t *testing.T, path string, want os.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != want {
		t.Errorf("mode of %s: %v, %v", path, info.Mode(), err)
	}
}

func TestResolvePath(t *testing.T) {
	t.Setenv("HOME", "/h")
	for path, want := range map[string]string{"~": "/h", "~/x": "/h/x", "~x": "/ash/~x", "a/../b": "/ash/b", "/abs/./x": "/abs/x"} {
		if got, err := resolvePath(path, "/ash"); err != nil || got != want {
			t.Errorf("%s: got %s, %v; want %s", path, got, err, want)
		}
	}
	t.Setenv("HOME", "")
	if _, err := resolvePath("~/x", "/ash"); err == nil {
		t.Error("~ without a home")
	}
}

func TestFileError(t *testing.T) {
	tests := map[error]agent.Code{
		fs.ErrNotExist:   agent.CodeNotFound,
		fs.ErrPermission: agent.CodeDenied,
		syscall.ENOSPC:   agent.CodeExhausted,
		syscall.EDQUOT:   agent.CodeExhausted,
		syscall.EROFS:    agent.CodeDenied,
		syscall.EIO:      agent.CodeUnavailable,
	}
	for cause, want := range tests {
		err := fileError(&fs.PathError{Op: "write", Path: "/secret/.config.toml.123", Err: cause}, "write", "/h/config.toml")
		if agent.CodeOf(err) != want || !errors.Is(err, cause) || strings.Contains(agent.PublicOf(err), ".123") {
			t.Errorf("%v: %v", cause, err)
		}
	}
}

// A save that fails leaves the file as it was and nothing beside it.
func TestWriteFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, FileName)
	must(t, os.MkdirAll(filepath.Join(path, "in the way"), 0o700))
	if err := writeFile(path, []byte("x")); err == nil {
		t.Error("a folder was replaced")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if err := writeFile(filepath.Join(dir, "none", FileName), nil); agent.CodeOf(err) != agent.CodeNotFound {
		t.Errorf("no folder: %v", err)
	}
}

func TestLocked(t *testing.T) {
	o := home(t, "")
	other := flock.New(filepath.Join(o.Home, lockName))
	must(t, other.Lock())
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	_, err := Edit(ctx, o, "", []Change{{Key: "log.level", Value: "debug"}})
	if agent.CodeOf(err) != agent.CodeConflict {
		t.Errorf("while another holds the lock: %v", err)
	}
	must(t, other.Unlock())
	if _, err := Edit(context.Background(), o, "", []Change{{Key: "log.level", Value: "debug"}}); err != nil {
		t.Errorf("after that: %v", err)
	}
	err = locked(context.Background(), filepath.Join(o.Home, "none"), func() error { return nil })
	if agent.CodeOf(err) != agent.CodeNotFound {
		t.Errorf("no folder: %v", err)
	}
}
