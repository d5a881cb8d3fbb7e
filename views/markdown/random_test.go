package markdown

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// fragments are what Markdown is made of: strung together at random they meet in ways nobody writes.
var fragments = []string{
	"\n", "\n", "\n", "\n\n", " ", "  ", "    ", "\t", "a", "b c", "word ", "- ", "* ", "+ ", "1. ", "2) ", "10. ", "> ", ">", "# ", "###", "---",
	"===", "***", "**", "*", "_", "__", "~~", "~", "`", "``", "```", "```go\n", "~~~\n", "|", "| a | b |\n|---|:-:|\n", "|-", "$", "$$", "$x$",
	`\(`, `\)`, `\[`, `\]`, "[", "]", "](", "(", ")", "[a]", "[a]: /b\n", "[^1]", "[^1]: n", "![", "![i](https://h/i)", "<", ">", "<br>", "<think>",
	"</think>", "<tool_call>", "</tool_call>", "<|x|>", "<script>", "&amp;", "&", "&#x1;", "\\", "\\*", "https://e.x/a_b", "www.e.x", "a@b.cd", "\r\n",
	"\r", "\x00", "\xe2\x82", "é", "€", "[x] ", "[ ] ", "func f() {}\n", "  - ", "\n  ", "\n    ", "-", "- [ ] ", "javascript:x", "\"", "'",
}

func randomSource(rng *rand.Rand) string {
	var out strings.Builder
	for range 1 + rng.IntN(60) {
		out.WriteString(fragments[rng.IntN(len(fragments))])
	}
	return out.String()
}

func randomPieces(rng *rand.Rand, source string) []string {
	var pieces []string
	longest := 1 + rng.IntN(12)
	for source != "" {
		n := min(len(source), 1+rng.IntN(longest))
		pieces = append(pieces, source[:n])
		source = source[n:]
	}
	return pieces
}

func TestRandomSourcesEndAsTheWhole(t *testing.T) {
	r := New()
	for seed := range uint64(700) {
		rng := rand.New(rand.NewPCG(seed, 1))
		source := randomSource(rng)
		check(t, r, randomPieces(rng, source))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
