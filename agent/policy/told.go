package policy

import (
	"slices"
	"strings"
	"sync"
	"unicode"

	"ash/agent"
)

const (
	maxTold     = 4 << 10 // bytes of a message that counts as the person's own words; what is longer is likely pasted
	maxToldLine = 600     // of a line of it
)

// told reports whether the person said all that a call would keep, in the message that this turn answers: every word of each piece
// stands in one line of it, and that line turns none of it round. Quotations, code, questions, long texts, and messages in which
// somebody else may have planted orders do not count. A helper's task is nobody's word.
func (p *Policy) told(s agent.Situation, keeps []string) bool {
	if len(keeps) == 0 || s.Thread.ParentCall != "" {
		return false
	}
	text := ownWords(s)
	if text == "" || len(text) > maxTold || p.options.Orders != nil && p.options.Orders(text) {
		return false
	}
	lines := spoken(text)
	return !slices.ContainsFunc(keeps, func(piece string) bool {
		return !slices.ContainsFunc(lines, func(l []string) bool { return says(l, piece) })
	})
}

// ownWords returns what the person of the thread wrote in the message this turn answers.
func ownWords(s agent.Situation) string {
	for _, m := range slices.Backward(s.Path) {
		if m.Role != agent.RoleUser {
			continue
		}
		if m.Author == "" || m.Author != s.Thread.Origin.Person || m.Thread != s.Thread.ID {
			return ""
		}
		var b strings.Builder
		for _, part := range m.Parts {
			if t, ok := part.(agent.Text); ok && !t.Labels.Untrusted() {
				b.WriteString(t.Text + "\n")
			}
		}
		return strings.TrimSpace(b.String())
	}
	return ""
}

// spoken returns the lines of a message, each as its sentences, without quotations, code and questions.
func spoken(text string) [][]string {
	var lines [][]string
	code := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") {
			code = !code
			continue
		}
		if code || line == "" || strings.HasPrefix(line, ">") || len(line) > maxToldLine {
			continue
		}
		var kept []string
		for _, sentence := range sentences(line) {
			if !strings.HasSuffix(sentence, "?") || asksToKeep(sentence) {
				kept = append(kept, sentence)
			}
		}
		lines = append(lines, kept)
	}
	return lines
}

// sentences cuts a line behind each mark that ends one.
func sentences(line string) []string {
	var out []string
	from := 0
	for i, r := range line {
		end := i + len(string(r))
		if strings.ContainsRune(".!?;。！？", r) && (end == len(line) || line[end] == ' ' || r > unicode.MaxLatin1) {
			out = append(out, strings.TrimSpace(line[from:end]))
			from = end
		}
	}
	if rest := strings.TrimSpace(line[from:]); rest != "" {
		out = append(out, rest)
	}
	return out
}

// asksToKeep reports whether a question asks for something to be kept: "could you remember that …?"
func asksToKeep(sentence string) bool {
	return slices.ContainsFunc(wordsOf(sentence), func(w string) bool { return keeping()[w] })
}

// says reports whether sentences say a piece: together they have each of its words that mean something, and those that lend one
// agree with it in what they deny.
func says(line []string, piece string) bool {
	want := map[string]bool{} // false: not found yet
	for _, w := range wordsOf(piece) {
		if !turning()[w] {
			want[w] = false
		}
	}
	if len(want) == 0 {
		return false
	}
	denies := denying(piece)
	for _, sentence := range line {
		lends := false
		for _, w := range wordsOf(sentence) {
			if _, ok := want[w]; ok && !negation()[w] {
				want[w], lends = true, true
			}
		}
		if lends && denying(sentence) != denies {
			return false
		}
		if denies && lends {
			for w := range negation() {
				if _, ok := want[w]; ok {
					want[w] = true // how it is denied may differ: "don't", "do not"
				}
			}
		}
	}
	for w, found := range want {
		if !found && (!denies || !negation()[w]) {
			return false
		}
	}
	return true
}

// denying reports whether a sentence denies something. Asking not to forget denies nothing.
func denying(sentence string) bool {
	if first, rest, ok := strings.Cut(sentence, ","); ok && interjection()[strings.ToLower(strings.TrimSpace(first))] {
		sentence = rest // "No, my sister is …"
	}
	words := wordsOf(sentence)
	for i, w := range words {
		if !negation()[w] {
			continue
		}
		if next := i + 1; next < len(words) && (words[next] == "forget" || words[next] == "vergessen") || i > 0 && words[i-1] == "vergiss" {
			continue
		}
		return true
	}
	return false
}

func wordsOf(text string) []string {
	text = strings.NewReplacer("'", "", "’", "").Replace(strings.ToLower(text))
	return strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.Is(unicode.Mn, r) })
}

// turning are words that a statement may have without anybody having said them: English and German, those that turn "my" into "your"
// and the like. None of them turns what is said round.
var turning = wordSet(`i you he she they my your his her their me him them am are is was were be has have the a an s that im
	ich du er sie es mein meine meinen meinem dein deine sein seine ihr ihre mich dich mir dir ihm bin bist ist war hat habe der die das dass
	owner person user`)

// negation are words that turn a statement round: English and German.
var negation = wordSet(`no not never none nothing nobody neither nor without cannot cant dont doesnt didnt wont isnt arent wasnt werent havent hasnt
	hadnt shouldnt wouldnt couldnt anymore longer stopped false untrue wrong
	nicht kein keine keinen keinem keiner keines nie niemals nichts niemand ohne weder falsch mehr`)

// interjection are words that begin a sentence and deny something else.
var interjection = wordSet(`no nope nein nö`)

// keeping are words that ask for something to be kept: English and German.
var keeping = wordSet(`remember note keep memorize memorise forget merk merke merken merkst notiere notieren behalte behalten vergessen`)

// wordSet is the set of the words in a list, made when it is first asked for.
func wordSet(list string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		out := map[string]bool{}
		for _, w := range strings.Fields(list) {
			out[w] = true
		}
		return out
	})
}
