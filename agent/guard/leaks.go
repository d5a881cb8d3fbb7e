package guard

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// leaks are gitleaks' rules, read when a text first needs them.
type leaks struct {
	once  sync.Once
	rules *leakRules // nil when they cannot be read

	named sync.Once
	words *wordSet // keywords of the rules, but those of the catch-all rule
}

const (
	leakBefore    = 200 // bytes before a run that a rule may want to see: the name of what is assigned
	leakAfter     = 120 // bytes after it
	genericBefore = 60  // bytes before it in which a word such as "key" counts
	maxWindow     = 16 << 10
	maxLeakRun    = 1200 // longer runs are pictures and archives, not keys
)

// find runs gitleaks' rules over the places around long words, where a keyword of theirs stands near. Work is bounded by the number of
// such places; ordinary text has none, and hashes, UUIDs and long blobs are none either.
func (l *leaks) find(spans []span, text string, c cues, log *slog.Logger) []span {
	for _, w := range l.windows(text, c) {
		l.once.Do(func() { l.load(log) })
		if l.rules != nil {
			spans = l.window(spans, text[w.start:w.end], w.start)
		}
	}
	return spans
}

// genericWords announce the catch-all rule, which is slow: they count close to a long word only.
var genericWords = [...]string{"access", "api", "auth", "key", "credential", "creds", "passw", "secret", "token"}

func (l *leaks) load(log *slog.Logger) {
	rules, err := loadLeakRules()
	if err != nil {
		log.Error("gitleaks' rules do not load; the own rules go on", "error", err)
		return
	}
	l.rules = rules
}

// keyword reports whether a rule may have something to say about a long word and what stands before it.
func (l *leaks) keyword(text string, r run) bool {
	near := strings.ToLower(text[max(0, r.start-genericBefore):r.start])
	for _, w := range genericWords {
		if strings.Contains(near, w) {
			return true
		}
	}
	piece := strings.ToLower(text[max(0, r.start-leakBefore):min(len(text), r.end+leakAfter)])
	return l.keywords().In(piece)
}

// keywords are the words of the rules that are long enough to mean something; the own rules know the keys that the others announce.
func (l *leaks) keywords() *wordSet {
	l.named.Do(func() {
		l.words = newWordSet(slices.DeleteFunc(strings.Fields(leakWords), func(w string) bool {
			return len(w) < 3 || slices.ContainsFunc(genericWords[:], func(g string) bool { return strings.HasPrefix(w, g) })
		}))
	})
	return l.words
}

// window adds what gitleaks' rules find in piece, which stands at offset.
func (l *leaks) window(spans []span, piece string, offset int) []span {
	for _, f := range l.rules.Find(piece) {
		rank := rankLeaks
		if f.Rule == "generic-api-key" {
			rank = rankGeneric
		}
		if f.Secret == "" || !credible(f.Rule, f.Match, f.Secret) {
			continue
		}
		for at := 0; ; {
			i := strings.Index(piece[at:], f.Secret)
			if i < 0 {
				break
			}
			spans = append(spans, span{offset + at + i, offset + at + i + len(f.Secret), f.Rule, rank})
			at += i + len(f.Secret)
		}
	}
	return spans
}

// credible refuses what gitleaks takes for a secret and is none: names of clients, hashes, identifiers of code.
func credible(rule, match, secret string) bool {
	switch {
	case strings.HasSuffix(rule, "-client-id"), strings.Contains(rule, "-pub"), strings.HasSuffix(rule, "access-id"):
		return false
	case rule == "jwt", rule == "private-key", rule == "nuget-config-password", strings.HasPrefix(rule, "curl-"):
		return !placeholder(secret)
	case rule == "generic-api-key":
		return random(secret) && !codeLike(secret) && !plainName(match) && (!hashLike(secret) || strongName(match))
	case hashLike(secret):
		return strongName(match)
	}
	return random(secret)
}

// windows returns the pieces of text worth a look, in order.
func (l *leaks) windows(text string, c cues) []run {
	var out []run
	for _, r := range c.runs {
		if r.end-r.start <= maxLeakRun && !bland(text[r.start:r.end]) && l.keyword(text, r) {
			out = append(out, run{max(0, r.start-leakBefore), min(len(text), r.end+leakAfter)})
		}
	}
	if c.curl {
		for at := 0; ; {
			i := strings.Index(text[at:], "curl ")
			if i < 0 {
				break
			}
			at += i + 5
			out = append(out, run{at - 5, min(len(text), at+600)})
		}
		slices.SortFunc(out, func(a, b run) int { return a.start - b.start })
	}
	return joined(out)
}

// joined merges overlapping runs, which are in order, up to a size: the work grows faster than the input.
func joined(runs []run) []run {
	out := runs[:0]
	for _, r := range runs {
		if n := len(out); n > 0 && r.start <= out[n-1].end && r.end-out[n-1].start <= maxWindow {
			out[n-1].end = max(out[n-1].end, r.end)
			continue
		}
		out = append(out, r)
	}
	return out
}

// bland reports whether a run is a path, an identifier, a hash or a UUID: no rule without a name wants it.
func bland(s string) bool {
	if hashLike(s) {
		return true
	}
	digits, vowels, letters, seps := 0, 0, 0, 0
	for i := range len(s) {
		switch b := s[i] | 0x20; {
		case '0' <= s[i] && s[i] <= '9':
			digits++
		case strings.IndexByte("aeiouy", b) >= 0:
			vowels++
			letters++
		case unicode.IsLetter(rune(b)):
			letters++
		default:
			seps++
		}
	}
	// Words have vowels and few digits between separators; keys have neither habit.
	return digits*8 < len(s) && letters > 0 && vowels*10 >= letters*3 && (seps > 0 || digits == 0)
}
