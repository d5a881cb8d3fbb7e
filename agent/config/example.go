package config

import (
	"bytes"
	"fmt"
	"strings"
)

const exampleHead = `# Settings of Ash.
#
# Every setting there is stands here, with its default, switched off by the # before it. To change one, remove
# that # and give your value; or use the Settings page or "ash config set", which keep your comments.
# A variable named after the key (ASH_SERVER_LISTEN for listen in [server]) wins over this file, and a flag
# over both. No key or password stands in here.
`

const exampleWidth = 110 // characters of a comment line

// Example returns the annotated example: a config.toml with every section and every
// key, documented and commented out, so that it means the same as an empty file.
func Example() []byte {
	var b bytes.Buffer
	b.WriteString(exampleHead)
	for _, s := range newSchema().sections {
		b.WriteByte('\n')
		writeComment(&b, s.doc)
		b.WriteString(s.exampleHeader())
		for _, f := range s.fields {
			b.WriteByte('\n')
			writeComment(&b, f.Doc)
			writeComment(&b, f.exampleNote())
			fmt.Fprintf(&b, "# %s = %s\n", f.leaf, f.exampleValue())
		}
	}
	return b.Bytes()
}

// exampleHeader returns the line that opens the section. One that stands for
// many is commented out like its keys.
func (s *section) exampleHeader() string {
	switch s.shape {
	case named:
		return "# [" + s.name + ".openai]\n"
	case listed:
		return "# [[" + s.name + "]]\n"
	}
	return "[" + s.name + "]\n"
}

func (f *field) exampleValue() string {
	text := f.Default
	if text == "" {
		text = f.Sample
	}
	return f.literal(f.split(text))
}

// exampleNote says what is allowed, what holds without a value, and when a change takes effect.
func (f *field) exampleNote() string {
	note := "Allowed: " + f.Allowed + "."
	if f.Unset != "" {
		note += " Not set: " + f.Unset + "."
	}
	if f.Restart {
		note += " A change takes effect at the next start."
	}
	return note
}

// writeComment writes text as comment lines of bounded width.
func writeComment(b *bytes.Buffer, text string) {
	line := "#"
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > exampleWidth {
			b.WriteString(line + "\n")
			line = "#"
		}
		line += " " + word
	}
	b.WriteString(line + "\n")
}
