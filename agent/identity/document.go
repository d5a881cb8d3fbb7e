package identity

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"ash/agent"
)

// The identity files, in the order in which System composes them.
const (
	Soul  = "SOUL.md"  // who the assistant is
	User  = "USER.md"  // whom it serves
	Tools = "TOOLS.md" // how it is to use its tools
)

// MaxSize is the most bytes a file may have.
const MaxSize = 64 << 10

//go:embed default/SOUL.md default/USER.md default/TOOLS.md
var defaults embed.FS

// Files returns the names of the identity files.
func Files() []string { return []string{Soul, User, Tools} }

// Default returns the text a file begins with. Names other than Files are CodeNotFound.
func Default(file string) (string, error) {
	b, err := defaults.ReadFile("default/" + file)
	if err != nil {
		return "", agent.Wrap(agent.CodeNotFound, err, "There is no identity file of that name.")
	}
	return string(b), nil
}

// Document is the current state of a file.
type Document struct {
	File     string
	Text     string
	Hash     string    // SHA-256 of Text, lower-case hex; the base of a Save
	Size     int       // bytes of Text
	Tokens   int       // estimate of what Text adds to every prompt, comments left out
	Modified time.Time // of the file, UTC; zero when Missing
	Missing  bool      // the file was deleted outside; Text is empty
	Problem  string    // why the file cannot be used, for the person; Text is then the last good version's
}

// Conflict is the cause inside the CodeConflict that Save and Restore return:
// the state that is there instead of the expected one.
type Conflict struct {
	Current Document
}

// Error implements error.
func (c *Conflict) Error() string {
	return fmt.Sprintf("%s is now %.12s", c.Current.File, c.Current.Hash)
}

// HashOf returns the hash of a text as Version and Document carry it.
func HashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// check refuses texts that are no Markdown a person wrote: CodeInvalid.
func check(file string, text []byte) error {
	switch {
	case len(text) > MaxSize:
		return agent.Errorf(agent.CodeInvalid, "%s is too long: at most %d KB are kept, since it is sent with every message.", file, MaxSize>>10)
	case !utf8.Valid(text):
		return agent.Errorf(agent.CodeInvalid, "%s is not UTF-8 text. Save it as UTF-8 and try again.", file)
	case bytes.IndexByte(text, 0) >= 0:
		return agent.Errorf(agent.CodeInvalid, "%s contains a NUL character, so it is not plain text.", file)
	}
	return nil
}

// comment matches an HTML comment, closed or not: notes to the person that the model need not read.
var comment = regexp.MustCompile(`(?s)<!--.*?(?:-->|$)`)

// spoken returns what of a text reaches the model: comments are left out, and
// a text of nothing but headings says nothing.
func spoken(text string) string {
	text = strings.TrimPrefix(text, "\uFEFF")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.TrimSpace(comment.ReplaceAllString(text, ""))
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") {
			return text
		}
	}
	return ""
}
