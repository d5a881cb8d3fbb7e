package main

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestFresh: the archive holds the definitions of the folder, and no others.
func TestFresh(t *testing.T) {
	archive, err := zip.OpenReader("../lexers.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	var names []string
	for _, f := range archive.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("../lexers", f.Name)
		names = append(names, path)
		if want, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs (%v): run go generate ./views/markdown", f.Name, err)
		}
	}
	if files, err := filepath.Glob("../lexers/*.xml"); err != nil || !slices.Equal(names, files) {
		t.Errorf("the folder has %d definitions, the archive %d (%v): run go generate ./views/markdown", len(files), len(names), err)
	}
}
