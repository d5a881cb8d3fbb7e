// Package licences holds the licences of everything of others that is in the binary: the modules that cmd/ash is built of, on any
// platform it is built for, and the scripts, styles, icons and fonts of the pages. Their texts are embedded.
//
// licences.json.gz is made from the module graph by gen; go generate makes it anew, with nothing but Go and the module cache.
package licences

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"fmt"
)

//go:generate go run ./gen

// embedded is a List as JSON, packed: it is read when its page is.
//
//go:embed licences.json.gz
var embedded []byte

// Work is something of others.
type Work struct {
	Name    string `json:"name"`    // path of the module, or name of the package
	Version string `json:"version"` // "" where the binary itself knows it
	Kind    string `json:"kind"`    // names of its licences (SPDX), with " and " between several; "" for others
	Use     string `json:"use"`     // "module", "page" or "toolchain"
	Texts   []int  `json:"texts"`   // its licences and notices: numbers in List.Texts
}

// List is all works with their texts. Several works share one.
type List struct {
	Works []Work   `json:"works"` // by name
	Texts []string `json:"texts"`
}

// All reads the embedded list. It fails only on a file that was not made by gen.
func All() (List, error) {
	var l List
	r, err := gzip.NewReader(bytes.NewReader(embedded))
	if err == nil {
		err = json.NewDecoder(r).Decode(&l)
	}
	if err != nil {
		return List{}, fmt.Errorf("read embedded licences: %w", err)
	}
	return l, nil
}

// Find returns the work of a name; false when there is none.
func (l List) Find(name string) (Work, bool) {
	for _, w := range l.Works {
		if w.Name == name {
			return w, true
		}
	}
	return Work{}, false
}

// TextsOf returns the licences and notices of a work.
func (l List) TextsOf(w Work) []string {
	var out []string
	for _, n := range w.Texts {
		if n >= 0 && n < len(l.Texts) {
			out = append(out, l.Texts[n])
		}
	}
	return out
}
