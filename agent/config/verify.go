package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// sameBut reports whether after says what before says, except that c was made.
// An edit is trusted because of this, not because splicing is thought to be right.
func sameBut(before, after *document, c change) bool {
	target := c.String()
	named := place{section: c.section, name: c.name}.String() + ".ref" // comes with a new catalog entry
	touched := func(key string) bool {
		return key == target || strings.HasPrefix(key, target+".") || !c.remove && key == named
	}
	old, now := before.flat(), after.flat()
	for key, value := range old {
		if !touched(key) && now[key] != value {
			return false
		}
	}
	for key := range now {
		if _, ok := old[key]; !ok && !touched(key) {
			return false
		}
		if c.remove && touched(key) {
			return false
		}
	}
	return c.remove || after.says(c.place, c.items)
}

// flat returns the values of a document by their keys, in a form that can be compared.
func (d *document) flat() map[string]string {
	refs := d.refs()
	out := make(map[string]string, len(d.items))
	for _, it := range d.items {
		if it.kind == unstable.InlineTable {
			continue
		}
		path := it.path
		if path[0] == "catalog" && it.index < len(refs) {
			if len(path) == 1 {
				continue // a list of inline tables: their keys are items of their own
			}
			path = slices.Insert(slices.Clone(path), 1, refs[it.index])
		}
		out[dotted(path)] = fmt.Sprintf("%#v", d.value(it.path, it.index))
	}
	return out
}
