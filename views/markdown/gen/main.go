// Command gen packs the lexers into lexers.zip: a fifth of their size, of which a page reads the one it needs. It runs in views/markdown, by go generate.
package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "lexers:", err)
		os.Exit(1)
	}
}

func run() error {
	packed, err := pack("lexers")
	if err != nil {
		return err
	}
	return os.WriteFile("lexers.zip", packed, 0o644) //nolint:gosec // part of the source
}

// pack returns the definitions of a folder as an archive, without times: the same files give the same bytes.
func pack(folder string) ([]byte, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.xml")) // in order
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	archive.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	for _, f := range files {
		content, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		w, err := archive.Create(filepath.Base(f))
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(content); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
