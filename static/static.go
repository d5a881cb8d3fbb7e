// Package static holds what the browser loads beside the pages: style, scripts,
// fonts and the icon, built from static/src by `npm run build` and embedded.
//
// File names carry a hash of their content, so a browser may keep them for a
// year; the compressed forms and the table of names are made by the build, so
// that nothing is hashed, compressed or walked when Ash starts. A page names an
// asset by URL; Handler serves it.
package static

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/binary"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Prefix is the path under which Handler expects its requests.
const Prefix = "/static/"

// files are the fonts, and the compressed forms of everything else: the plain form comes out of the compressed one.
//
//go:embed dist/*.woff2 dist/*.gz dist/*.br
var files embed.FS

// asset is one row of the generated table.
type asset struct {
	media  string
	etag   string
	gzip   bool
	brotli bool
}

// URL returns the address of an asset by its plain name, for example "app.css".
// An unknown name gives an address that answers 404.
func URL(name string) string { return Prefix + hashed(name) }

// Handler serves the assets under Prefix to GET and HEAD.
func Handler() http.Handler { return http.HandlerFunc(serve) }

func serve(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	name := strings.TrimPrefix(r.URL.Path, Prefix)
	a, ok := find(name)
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", a.media)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("X-Content-Type-Options", "nosniff")
	suffix, encoding := a.encode(r.Header.Get("Accept-Encoding"))
	if a.gzip || a.brotli {
		h.Set("Vary", "Accept-Encoding")
	}
	// Each encoding is a representation of its own (RFC 9110, 8.8.3.3).
	etag := `"` + a.etag + suffix + `"`
	h.Set("ETag", etag)
	if matches(r.Header.Get("If-None-Match"), etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	f, size, err := a.open(name, suffix)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	defer f.Close() //nolint:errcheck // an embedded file has nothing to close
	h.Set("Content-Length", strconv.FormatInt(size, 10))
	if encoding != "" {
		h.Set("Content-Encoding", encoding)
	}
	if r.Method == http.MethodHead {
		return
	}
	_, _ = io.Copy(w, f) // the reader went away: nothing to tell it
}

// open returns a form of the asset, and its size in bytes.
func (a asset) open(name, suffix string) (io.ReadCloser, int64, error) {
	if suffix == "" && a.gzip {
		return unpacked("dist/" + name + ".gz")
	}
	f, err := files.Open("dist/" + name + suffix)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// unpacked returns what is in a file that was compressed with gzip. Few ask for it: every browser takes a compressed form.
func unpacked(file string) (io.ReadCloser, int64, error) {
	packed, err := files.ReadFile(file)
	if err != nil {
		return nil, 0, err
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, 0, err
	}
	return z, int64(binary.LittleEndian.Uint32(packed[len(packed)-4:])), nil // the size stands last (RFC 1952, 2.3.1)
}

// encode picks the smallest form the browser takes.
func (a asset) encode(accept string) (suffix, encoding string) {
	if a.brotli && accepts(accept, "br") {
		return ".br", "br"
	}
	if a.gzip && accepts(accept, "gzip") {
		return ".gz", "gzip"
	}
	return "", ""
}

// accepts reports whether an Accept-Encoding header names coding and does not refuse it with q=0.
func accepts(header, coding string) bool {
	for part := range strings.SplitSeq(header, ",") {
		name, params, _ := strings.Cut(part, ";")
		if !strings.EqualFold(strings.TrimSpace(name), coding) {
			continue
		}
		q, found := strings.CutPrefix(strings.TrimSpace(params), "q=")
		if !found {
			return true
		}
		v, err := strconv.ParseFloat(q, 64)
		return err == nil && v > 0
	}
	return false
}

// matches reports whether an If-None-Match header holds etag.
func matches(header, etag string) bool {
	for part := range strings.SplitSeq(header, ",") {
		part = strings.TrimPrefix(strings.TrimSpace(part), "W/")
		if part == etag || part == "*" {
			return true
		}
	}
	return false
}
