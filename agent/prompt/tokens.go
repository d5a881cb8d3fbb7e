package prompt

import (
	"unicode"

	"ash/agent"
)

// Weights of characters in hundredths of a token, fitted so that the estimate lies between the true count
// and a third above it for English, German and code with the usual byte-pair vocabularies (cl100k, o200k, Claude,
// Llama 3); newer vocabularies pack CJK closer, so there it errs to the safe side.
const (
	weightLetter  = 27  // ASCII letter: a common word of five letters and a space is 1.4
	weightSpace   = 12  // part of the next word
	weightDigit   = 42  // two or three digits to a token
	weightPunct   = 55  // often joined with its neighbour
	weightNewline = 60  // runs of them are joined
	weightLatin   = 80  // ä, é, ñ: breaks a word up
	weightScript  = 55  // Cyrillic, Greek, Arabic, Hebrew
	weightHan     = 105 // Han, kana, Hangul
	weightOther   = 110 // other scripts and symbols
	weightAstral  = 250 // emoji: two or three
)

// What a message, a call and a tool cost beyond their text, in tokens.
const (
	perMessage = 5
	perCall    = 12
	perTool    = 14
	perImage   = 1600 // the most the vendors charge after scaling down to what the model sees
)

// ascii holds the weights of the bytes below 0x80.
var ascii = func() (w [128]uint8) {
	for c := range w {
		switch {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			w[c] = weightLetter
		case c >= '0' && c <= '9':
			w[c] = weightDigit
		case c == ' ':
			w[c] = weightSpace
		case c == '\n' || c == '\r' || c == '\t':
			w[c] = weightNewline
		case c < ' ' || c == 0x7f:
			w[c] = 100
		default:
			w[c] = weightPunct
		}
	}
	return w
}()

// Tokens estimates how many tokens a model makes of s, from the kinds of its
// characters. No vocabulary is consulted: the figure serves to fit and to show,
// errs upwards, and takes about 2 ns a byte. Tokens("") is 0.
func Tokens(s string) int {
	sum := 0
	for _, r := range s {
		if r < 128 {
			sum += int(ascii[r])
			continue
		}
		sum += weigh(r)
	}
	return (sum + 99) / 100
}

func weigh(r rune) int {
	switch {
	case r < 0x250:
		return weightLatin
	case r < 0x700:
		return weightScript
	case r >= 0x1100 && r < 0x1200, r >= 0x2e80 && r < 0xa4d0, r >= 0xac00 && r < 0xd7b0, r >= 0xf900 && r < 0xfb00, r >= 0xff00 && r < 0xfff0:
		return weightHan
	case r > 0xffff:
		return weightAstral
	case unicode.IsMark(r):
		return weightScript
	}
	return weightOther
}

// Size estimates the tokens of a whole prompt, as Tokens does. A document whose pages are sent as they are counts by its size.
func Size(p agent.Prompt) int {
	n := perMessage + Tokens(p.System) + toolTokens(p.Tools)
	for _, m := range p.Messages {
		n += messageTokens(m)
		for _, part := range m.Parts {
			if f, ok := part.(agent.File); ok {
				n += len(f.Data) / bytesPerToken
			}
		}
	}
	return n
}

// bytesPerToken is how many bytes of a document make a token: a scanned page of 60 KB is charged as about two thousand.
const bytesPerToken = 30

// toolTokens estimates what the tools take.
func toolTokens(tools []agent.ToolSpec) int {
	n := 0
	for _, t := range tools {
		n += perTool + Tokens(t.Name) + Tokens(t.Description) + Tokens(string(t.Schema))
	}
	return n
}

// messageTokens estimates what one message takes.
func messageTokens(m agent.PromptMessage) int {
	n := perMessage + partTokens(m.Parts)
	for _, c := range m.Calls {
		n += perCall + Tokens(c.Name) + Tokens(string(c.Arguments)) + Tokens(string(c.Extra))
	}
	return n
}

func partTokens(parts []agent.Part) int {
	n := 0
	for _, p := range parts {
		switch p := p.(type) {
		case agent.Text:
			n += Tokens(p.Text)
		case agent.Thinking:
			// Signatures and redacted data are base64, denser than prose.
			n += Tokens(p.Text) + (len(p.Signature)+len(p.Redacted))/3
		case agent.Image:
			n += perImage
		case agent.File:
			// A model that reads documents is charged for the text and for a picture of each page.
			n += 2*Tokens(p.Extract) + perImage
		case agent.ToolResult:
			n += perCall + partTokens(p.Content)
		}
	}
	return n
}
