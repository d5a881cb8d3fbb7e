package files

import (
	"context"
	"strings"
	"unicode"

	"ash/agent"
	"ash/agent/tool"
)

// labelsOf returns the labels of a file with these contents. hash is "" when they were not read whole: nothing is
// known of them then, so they count as anybody's.
func (f *Files) labelsOf(ctx context.Context, s *spot, hash string) (agent.Labels, error) {
	known, err := f.o.Provenance.Labels(ctx, s.base, s.path, hash)
	if err != nil {
		return nil, err
	}
	source := "file:" + s.shown()
	if hash == "" && !known.Untrusted() {
		known = known.Union(tool.Untrusted(source))
	}
	return private(known, source), nil
}

// private adds that a file is the person's own, unless all that is known of it is that a stranger wrote it.
func private(known agent.Labels, source string) agent.Labels {
	if len(known) == 0 {
		return tool.Private(source)
	}
	strangers := true
	for _, l := range known {
		if l.Private {
			return known
		}
		strangers = strangers && l.Kind == agent.LabelUntrusted
	}
	if strangers {
		return known
	}
	return known.Union(tool.Private(source))
}

// namesLabels returns the labels of the names of files. A name is content too, and a folder that is not known to be the
// person's own may have been unpacked from anywhere: names that could be read as a sentence count as a stranger's.
func (f *Files) namesLabels(ctx context.Context, s *spot, names []string) (agent.Labels, error) {
	source := "names in " + s.shown()
	if s.path == "." && s.own {
		source = "names of files"
	}
	for _, name := range names {
		if !wordy(name) {
			continue
		}
		known, err := f.o.Provenance.Labels(ctx, s.base, s.path, "")
		if err != nil {
			return nil, err
		}
		if known.Untrusted() {
			return tool.Private(source).Union(tool.Untrusted(source)), nil
		}
		break
	}
	return tool.Private(source), nil
}

// maxWords is how many words a plain name has.
const maxWords = 4

// wordy reports whether a name could be read as a sentence.
func wordy(name string) bool {
	words := strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) })
	long := 0
	for _, w := range words {
		if len(w) > 1 {
			long++
		}
		if len(w) > 40 { // or holds one without spaces
			return true
		}
	}
	return long > maxWords
}
