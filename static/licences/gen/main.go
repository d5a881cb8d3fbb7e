// Command gen makes licences.json.gz: the licences of all modules that cmd/ash is built of, as the module graph has them, of the Go
// standard library, and of what static/vendor holds. It runs in static/licences, by go generate.
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"ash/static/licences"
)

// targets are the platforms that Ash is built for.
var targets = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64"}

// sources are modules of which something is embedded, though no code of theirs is linked.
var sources = []string{
	"github.com/zricethezav/gitleaks/v8", // agent/guard/leakrules.go
}

// licenceFile is what licences, notices and grants are called.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents|copyright|unlicense)([-_.].*)?$`)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "licences:", err)
		os.Exit(1)
	}
}

func run() error {
	found := map[string]*work{}
	for _, target := range targets {
		if err := addModules(found, target); err != nil {
			return err
		}
	}
	if err := errors.Join(addSources(found), addToolchain(found), addVendored(found, "../vendor")); err != nil {
		return err
	}
	list, err := compile(found)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	packed, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	e := json.NewEncoder(packed)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := errors.Join(e.Encode(list), packed.Close()); err != nil {
		return err
	}
	return os.WriteFile("licences.json.gz", b.Bytes(), 0o644) //nolint:gosec // part of the source
}

// work is a licences.Work with the files of its texts.
type work struct {
	licences.Work
	files map[string]bool
}

// listed is what go list says of a package.
type listed struct {
	Dir    string
	Module *struct {
		Path, Version, Dir string
		Main               bool
		Replace            *struct{ Path, Version, Dir string }
	}
}

// addModules adds the modules that cmd/ash is built of for a platform. A package may have a licence of its own: files are
// looked for from its folder up to that of the module.
func addModules(found map[string]*work, target string) error {
	system, processor, _ := strings.Cut(target, "/")
	cmd := exec.CommandContext(context.Background(), "go", "list", "-deps", "-json=Dir,Module", "ash/cmd/ash")
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list for %s: %w", target, err)
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if p.Module == nil || p.Module.Main {
			continue
		}
		w := found[p.Module.Path]
		if w == nil {
			w = &work{Work: licences.Work{Name: p.Module.Path, Version: p.Module.Version, Use: "module"}, files: map[string]bool{}}
			found[p.Module.Path] = w
		}
		for dir := p.Dir; len(dir) >= len(p.Module.Dir); dir = filepath.Dir(dir) {
			if err := w.addFolder(dir); err != nil {
				return err
			}
		}
	}
}

func addSources(found map[string]*work) error {
	for _, path := range sources {
		out, err := exec.CommandContext(context.Background(), "go", "list", "-m", "-f", "{{.Version}}\n{{.Dir}}", path).Output()
		if err != nil {
			return fmt.Errorf("go list of %s: %w", path, err)
		}
		version, dir, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		w := &work{Work: licences.Work{Name: path, Version: version, Use: "module"}, files: map[string]bool{}}
		found[path] = w
		if err := w.addFolder(dir); err != nil {
			return err
		}
	}
	return nil
}

// addFolder adds the licences that lie in a folder.
func (w *work) addFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Type().IsRegular() && licenceFile.MatchString(e.Name()) && !strings.HasSuffix(e.Name(), ".go") {
			w.files[filepath.Join(dir, e.Name())] = true
		}
	}
	return nil
}

func addToolchain(found map[string]*work) error {
	out, err := exec.CommandContext(context.Background(), "go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	w := &work{Work: licences.Work{Name: "Go standard library", Use: "toolchain"}, files: map[string]bool{}}
	found[w.Name] = w
	return w.addFolder(strings.TrimSpace(string(out)))
}

// addVendored adds what the pages are made of: each line of VERSIONS is a package, and LICENSE-<name> the text of those of that name.
func addVendored(found map[string]*work, dir string) error {
	versions, err := os.ReadFile(filepath.Join(dir, "VERSIONS"))
	if err != nil {
		return err
	}
	texts, err := filepath.Glob(filepath.Join(dir, "LICENSE-*"))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(versions)) {
		name, version, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			return fmt.Errorf("VERSIONS: %q is no package", line)
		}
		w := &work{Work: licences.Work{Name: name, Version: version, Use: "page"}, files: map[string]bool{}}
		for _, text := range texts {
			if strings.Contains(name, strings.TrimPrefix(filepath.Base(text), "LICENSE-")) {
				w.files[text] = true
			}
		}
		found[name] = w
	}
	return nil
}

// compile puts works in order and their texts together. A work without a licence is an error: it must not be shipped.
func compile(found map[string]*work) (licences.List, error) {
	var list licences.List
	numbers := map[string]int{}
	names := make([]string, 0, len(found))
	for name := range found {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		w := found[name]
		files := make([]string, 0, len(w.files))
		for f := range w.files {
			files = append(files, f)
		}
		slices.Sort(files)
		var kinds []string
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				return list, err
			}
			text := strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(string(b), "\uFFFD"), "\r\n", "\n"))
			n, known := numbers[text]
			if !known {
				n = len(list.Texts)
				numbers[text], list.Texts = n, append(list.Texts, text)
			}
			if !slices.Contains(w.Texts, n) {
				w.Texts = append(w.Texts, n)
			}
			for _, kind := range kindsOf(text) {
				if !slices.Contains(kinds, kind) {
					kinds = append(kinds, kind)
				}
			}
		}
		if len(w.Texts) == 0 {
			return list, fmt.Errorf("%s has no licence", name)
		}
		w.Kind = strings.Join(kinds, " and ")
		list.Works = append(list.Works, w.Work)
	}
	return list, nil
}

// kindsOf names the licences that a text holds, as SPDX does: of a part that came from elsewhere it often holds another one. There
// are none in a notice, a grant, or what it does not know.
func kindsOf(text string) []string {
	plain := strings.Join(strings.Fields(strings.ToLower(text)), " ")
	has := func(words string) bool { return strings.Contains(plain, words) }
	var kinds []string
	add := func(kind string, is bool) {
		if is {
			kinds = append(kinds, kind)
		}
	}
	add("Apache-2.0", has("apache license") && has("version 2.0"))
	add("MPL-2.0", has("mozilla public license") && has("2.0"))
	zero := has("zero-clause bsd") || has("bsd zero clause") // in the words of ISC
	add("0BSD", zero)
	add("ISC", !zero && (has("permission to use, copy, modify, and/or distribute this software") || has("permission to use, copy, modify, and distribute this software")))
	add("MIT", has("permission is hereby granted, free of charge") && has("a copy of this software")) // OFL grants one of "the font software"
	add("OFL-1.1", has("sil open font license"))
	if has("redistribution and use in source and binary forms") {
		three := has("neither the name") || has("endorse or promote")
		add("BSD-3-Clause", three)
		add("BSD-2-Clause", !three)
	}
	if len(kinds) == 0 { // other licences use these words, too
		cc0 := has("cc0 1.0 universal") || has("creative commons cc0")
		add("CC0-1.0", cc0)
		add("public domain", !cc0 && has("public domain"))
	}
	return kinds
}
