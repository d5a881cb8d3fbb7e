package offline

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"ash/agent"
)

// talk is what the prompt says about the conversation.
type talk struct {
	words       string   // the person's newest words
	earlier     []string // their words before that, oldest first
	attachments []string // names of what came with the newest message
	said        []string // everything in the conversation, folded by plainText
	results     []agent.ToolResult
	answered    int // replies so far
}

// The prompt wraps what is not the person's word: data in fences, notes of Ash in brackets. A note that names an
// attachment reads [file NAME:], [picture NAME (image/png); …] or [Image "NAME" (image/png) …].
var (
	fenced   = lazily(`(?s)<data-[0-9a-f]+ from="[^"]*"[^>]*>\n.*?\n</data-[0-9a-f]+>`)
	note     = lazily(`(?s)^\[(sent|by now|the person stopped|your message above|remembered|the latest conversations|earlier steps|go on|this message is empty|the conversation|the tool|result of the tool)\b[^\]]*\]$`)
	attached = lazily(`^\[(?:picture|file|document) (.+?)(?: \([^()]*\))?[:;][^\]]*\]|^\[(?:Image|File) "([^"]*)"`)
)

// lazily compiles an expression when it is first used.
func lazily(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// listen reads the conversation out of a prompt.
func listen(ms []agent.PromptMessage) talk {
	var t talk
	for i, m := range ms {
		if m.Role == agent.RoleAssistant {
			t.answered++
			for _, p := range m.Parts {
				if s, ok := p.(agent.Text); ok {
					t.said = append(t.said, plainText(s.Text))
				}
			}
			continue
		}
		words, attachments, results := hear(m)
		if len(results) > 0 && words == "" {
			if i == len(ms)-1 {
				t.results = results
			}
			continue
		}
		if t.words != "" {
			t.earlier = append(t.earlier, t.words)
		}
		t.words, t.attachments, t.results = words, attachments, nil
		if words != "" {
			t.said = append(t.said, plainText(words))
		}
	}
	return t
}

// hear separates the person's own words from what Ash put around them.
func hear(m agent.PromptMessage) (words string, attachments []string, results []agent.ToolResult) {
	var kept []string
	attach := func(name string) {
		if name != "" && !slices.Contains(attachments, name) {
			attachments = append(attachments, name)
		}
	}
	for _, p := range m.Parts {
		switch p := p.(type) {
		case agent.Image:
			attach(p.Attachment.Name)
		case agent.File:
			attach(p.Attachment.Name)
		case agent.ToolResult:
			results = append(results, p)
		case agent.Text:
		paragraphs:
			for paragraph := range strings.SplitSeq(fenced().ReplaceAllString(p.Text, ""), "\n\n") {
				trimmed := strings.TrimSpace(paragraph)
				name := attached().FindStringSubmatch(trimmed)
				switch {
				case name != nil:
					attach(name[1] + name[2])
					if name[2] != "" && !strings.HasSuffix(trimmed, "]") {
						break paragraphs // the file's text follows without a fence
					}
				case trimmed != "" && !note().MatchString(trimmed):
					kept = append(kept, paragraph)
				}
			}
		}
	}
	return strings.TrimSpace(strings.Join(kept, "\n\n")), attachments, results
}

// search returns the last words that were looked for in this conversation, and how many times "more" was asked since.
func (t talk) search() (words string, pages int) {
	for i := len(t.earlier) - 1; i >= 0; i-- {
		switch c := parse(t.earlier[i]); c.Verb {
		case verbMore:
			pages++
		case verbFind, verbNone:
			return c.Words, pages
		case verbQuote:
			if c.Words != "" {
				return c.Words, pages
			}
		}
	}
	return "", 0
}

// longSnippet is the length from which a piece of text found in the conversation is taken for that very place, in bytes.
const longSnippet = 40

// known reports whether a hit is this conversation itself: one of its messages, or its title, which is
// made of its first words.
func (t talk) known(h agent.SearchHit) bool {
	text := plainText(snippetText(h))
	if text == "" {
		return true
	}
	for i, s := range t.said {
		switch {
		case s == text, len(text) >= longSnippet && strings.Contains(s, text):
			return true
		case h.Message == "" && i == 0 && strings.HasPrefix(s, text):
			return true
		}
	}
	return false
}

// plainText folds text for comparison: case, space and marks of Markdown do not count.
func plainText(s string) string {
	s = strings.Map(func(r rune) rune {
		if strings.ContainsRune("*_`\\>#…", r) {
			return -1
		}
		return r
	}, s)
	return strings.ToLower(strings.Join(strings.Fields(s), " "))
}
