package markdown

import (
	"regexp"
	"strings"
	"testing"
)

var ids = regexp.MustCompile(` (id|href)="#?m[^"]*"`)

// uncut renders a message in one piece, as CommonMark has it.
func uncut(r *Renderer, source string) string {
	s := r.Stream("m")
	s.doc.closing = true
	w := s.writer(strings.TrimRight(source, "\n"), "")
	root, _ := s.parse(w)
	w.blocks(root, false)
	return ids.ReplaceAllString(string(w.buf), "")
}

func cutUp(r *Renderer, source string) string {
	// a block of several elements has a wrapper
	html := ids.ReplaceAllString(r.HTML("m", source), "")
	return strings.NewReplacer("<div>", "", "</table></div>", "</table></div>", "</div>", "").Replace(html)
}

// cuts are messages whose blocks meet in ways that CommonMark has rules for.
var cuts = map[string]string{
	"paragraphs":                "a\nb\n\nc\n   d\n",
	"heading ends paragraph":    "a\n# b\nc",
	"rule and setext":           "a\n---\nb\n\n---\n***\n* * *\nc\n- - -\n",
	"fence ends paragraph":      "a\n```\nb\n\nc\n```\nd",
	"fence with longer end":     "```\na\n``\n````\nb",
	"fence of tildes":           "~~~ x`y\na\n```\n~~~\nb",
	"indented fence":            "   ```\n   a\n    ```\n  ```\nb",
	"not a fence":               "``` a`b\nc\n",
	"indented code":             "    a\n\n\n    b\nc\n    d",
	"list ends paragraph":       "a\n- b\nc\n\nd",
	"number does not":           "a\n2. b\n\n2. c",
	"one does":                  "a\n1. b",
	"empty item does not":       "a\n*\nb",
	"list and lazy":             "- a\nb\n- c\n\nd",
	"list and blank":            "- a\n\n\n  b\n- c\n\n\n- d\n",
	"bullets differ":            "- a\n* b\n+ c\n1. d\n2) e",
	"list then code":            "- a\n\n      b\n\n    c\n\nd",
	"list and fence":            "- a\n  ```\n  b\n\n  c\n  ```\n- d\n```\ne\n```",
	"list and heading":          "- a\n# b\n- # c\n  d\n",
	"list and rule":             "- a\n***\n- b\n---\n",
	"list in list":              "1. a\n   - b\n\n     c\n   - d\n2. e\n",
	"wide item":                 "10) a\n\n    b\n\n   c",
	"tabs":                      "-\ta\n\n\tb\n\n\t\tc\n",
	"quote":                     "> a\n> b\n\n> c\n",
	"quote and lazy":            "> a\nb\n> - c\nd\n- e\n",
	"quote and fence":           "> ```\n> a\n```\nb\n```",
	"quote ends":                "> a\n# b\n> c\n\nd",
	"quote ends paragraph":      "a\n> b",
	"table":                     "| a |\n|---|\n| b |\nc\n\nd",
	"table ends":                "| a |\n|---|\n| b |\n# c\n| d |\n|---|\n> e",
	"text and table":            "a\n\n| b | c |\n| --- | --- |\n| d | e |\n",
	"definitions":               "[a]: /b\n[c]:\n/d\n'e'\nf\n\n[a] [c]\n",
	"backslash at the end":      "a\\\n\nb\\",
	"maths":                     "$$\na\n$$\n\nb\n",
	"empty items":               "-\n- a\n-\n\n  b\n",
	"ordered from zero":         "0. a\n1. b\n",
	"long number":               "1234567890. a\n\n123456789. b",
	"rule of underscores":       "a\n___\nb\n_ _\nc",
	"heading without space":     "#a\n\n####### b\n\n#\n",
	"numbers and text":          "2024 was good\n1.5 times\n1.\n",
	"text that looks like code": "a\n\n   b\n\n    c",
}

// TestCutsChangeNothing compares messages rendered block by block with the same in one piece.
func TestCutsChangeNothing(t *testing.T) {
	r := New()
	for name, source := range cuts {
		t.Run(name, func(t *testing.T) {
			if got, want := cutUp(r, source), uncut(r, source); got != want {
				t.Errorf("%q\ncut   %s\nuncut %s", source, got, want)
			}
		})
	}
}
