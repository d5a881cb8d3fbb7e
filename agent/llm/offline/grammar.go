package offline

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
)

// verb is what a command asks for.
type verb string

const (
	verbNone   verb = ""       // no command: words to look for
	verbGreet  verb = "greet"  // hello
	verbHelp   verb = "help"   // what can be asked
	verbSetup  verb = "setup"  // how to get a language model
	verbFind   verb = "find"   // search for Words
	verbMore   verb = "more"   // the next results of the last search
	verbQuote  verb = "quote"  // result Number of the last search, or the best for Words
	verbDate   verb = "date"   // the clock
	verbTools  verb = "tools"  // which tools there are
	verbTool   verb = "tool"   // use Tool with Arguments
	verbThanks verb = "thanks" // courtesy
	verbAbout  verb = "about"  // what is remembered about Words; "" is the person
	verbForget verb = "forget" // the fact that says Words, or Number of those that were listed
)

// command is what a message asks for, as docs/offline.md writes it down.
type command struct {
	Verb      verb
	Words     string // find, quote, none
	Number    int    // quote: from 1; 0 means Words or the first
	Tool      string
	Arguments string // a JSON object
	Wrong     string // why Arguments cannot be used
}

// parse reads a message. Case does not matter, a leading slash neither; anything that is no
// command is a question, whose words are looked for.
func parse(text string) command {
	text = strings.TrimSpace(text)
	bare := strings.TrimPrefix(text, "/")
	first, rest := cutWord(bare)
	rest = strings.TrimSpace(rest)
	if bare != text {
		if c, ok := shortcut(fold(first), rest); ok {
			return c
		}
	}
	switch fold(first) {
	case "find", "search", "suche", "finde":
		if rest != "" {
			return command{Verb: verbFind, Words: rest}
		}
		return command{Verb: verbHelp}
	case "quote", "zitiere":
		if n, err := strconv.Atoi(rest); err == nil && n > 0 {
			return command{Verb: verbQuote, Number: n}
		}
		return command{Verb: verbQuote, Words: rest}
	case "forget", "vergiss":
		return parseForget(rest)
	case "tool":
		if rest != "" {
			return parseTool(rest)
		}
		return command{Verb: verbTools}
	}
	if v := single(fold(bare)); v != verbNone {
		return command{Verb: v}
	}
	if words, ok := parseAbout(fold(bare)); ok {
		return command{Verb: verbAbout, Words: words}
	}
	return command{Words: text}
}

// shortcut reads a tool's usual call without its JSON. The slash is needed: "read me the last mail" is a question.
func shortcut(word, rest string) (command, bool) {
	var tool, argument string
	switch word {
	case "run":
		tool, argument = "shell", "command"
	case "fetch":
		tool, argument = "web_fetch", "url"
	case "web":
		tool, argument = "web_search", "query"
	case "read":
		tool, argument = "file_read", "path"
	case "list":
		tool, argument = "file_list", "path"
	default:
		return command{}, false
	}
	if rest == "" && tool == "file_list" {
		return command{Verb: verbTool, Tool: tool, Arguments: "{}"}, true
	}
	if rest == "" {
		return command{}, false
	}
	arguments, err := json.Marshal(map[string]string{argument: rest})
	if err != nil {
		return command{}, false
	}
	return command{Verb: verbTool, Tool: tool, Arguments: string(arguments)}, true
}

// single knows the commands that are a whole message.
func single(text string) verb {
	switch text {
	case "help", "?", "commands", "hilfe":
		return verbHelp
	case "setup", "models", "model", "settings":
		return verbSetup
	case "more", "next", "mehr", "weiter":
		return verbMore
	case "date", "time", "now", "today", "datum", "uhrzeit", "what time is it", "what day is it", "what is the date", "what's the date", "wie spät ist es":
		return verbDate
	case "tools":
		return verbTools
	case "thanks", "thank you", "danke", "merci", "gracias":
		return verbThanks
	case "hi", "hello", "hey", "hello ash", "hi ash", "hey ash", "good morning", "good afternoon", "good evening", "hallo", "hallo ash", "moin", "servus",
		"grüß gott", "guten morgen", "guten tag", "guten abend", "bonjour", "salut", "hola", "ciao", "olá", "hej", "привет", "你好", "こんにちは", "안녕하세요":
		return verbGreet
	}
	return verbNone
}

// parseTool reads NAME and the JSON object behind it.
func parseTool(text string) command {
	name, rest := cutWord(text)
	c := command{Verb: verbTool, Tool: name, Arguments: strings.TrimSpace(rest)}
	if c.Arguments == "" {
		c.Arguments = "{}"
		return c
	}
	var object map[string]json.RawMessage
	switch err := json.Unmarshal([]byte(c.Arguments), &object); {
	case err != nil:
		c.Wrong = err.Error()
	case object == nil:
		c.Wrong = "null is not an object"
	}
	return c
}

// cutWord splits s after its first word.
func cutWord(s string) (word, rest string) {
	s = strings.TrimLeftFunc(s, unicode.IsSpace)
	i := strings.IndexFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r == '{' })
	if i < 0 {
		return s, ""
	}
	return s[:i], s[i:]
}

// fold brings a message into the form in which commands are compared.
func fold(s string) string {
	s = strings.ToLower(strings.Join(strings.Fields(s), " "))
	if s == "?" {
		return s
	}
	return strings.TrimRightFunc(s, func(r rune) bool { return strings.ContainsRune("!.?,;:！。？", r) || unicode.IsSpace(r) })
}

// common are words that say nothing about what is looked for.
func common(word string) bool {
	switch word {
	case "a", "an", "and", "any", "are", "about", "as", "at", "be", "can", "could", "did", "do", "does", "for", "from", "had", "has", "have", "how", "i", "in", "is", "it", "its",
		"me", "my", "of", "on", "or", "our", "please", "say", "said", "should", "so", "tell", "that", "the", "their", "there", "this", "to", "us", "was", "we", "were", "what",
		"when", "where", "which", "who", "why", "will", "with", "would", "you", "your",
		"aber", "auch", "auf", "aus", "bei", "bitte", "das", "dass", "dem", "den", "der", "die", "du", "ein", "eine", "einen", "es", "für", "habe", "hat", "ich", "im", "ist",
		"mein", "meine", "mich", "mir", "mit", "nicht", "oder", "über", "und", "von", "war", "warum", "wann", "wer", "wie", "wir", "wo", "zu", "zum", "zur":
		return true
	}
	return false
}

// maxQueryWords bounds what of a long message is looked for.
const maxQueryWords = 6

func notWord(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) }

// keywords picks what to look for in a message: its words without the common ones, the longest few, in order.
func keywords(text string) []string {
	var out []string
	seen := map[string]bool{}
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), notWord) {
		if !common(word) && !seen[word] {
			seen[word] = true
			out = append(out, word)
		}
	}
	for len(out) > maxQueryWords {
		shortest := 0
		for i, w := range out {
			if len(w) < len(out[shortest]) {
				shortest = i
			}
		}
		out = append(out[:shortest], out[shortest+1:]...)
	}
	return out
}
