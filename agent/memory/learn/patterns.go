package learn

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"ash/agent"
	"ash/agent/memory"
)

// newPhrasebook returns the phrases of English and German.
func newPhrasebook() *phrasebook {
	b := &phrasebook{
		lead: re(`^(?:(?:hi|hey|hello|hallo|servus)(?: ash)?|ash|ok(?:ay)?|oh|ah|ach(?: ja)?|well|so|and|also|but|yes|yeah|no|nope|sorry|right|thanks|thank you|please note|fyi|btw|` +
			`by the way|just so you know|for the record|for your information|in case you(?: a|')re wondering|actually|correction|i mean|wait|update|from now on|as of (?:now|today)|nowadays|now|since today|` +
			`übrigens|nur (?:so )?zur info|zur info|ach so|und|aber|ja|nein|nö|danke|stimmt|genau genommen|eigentlich|korrektur|vielmehr|ab (?:jetzt|heute|sofort)|jetzt|mittlerweile|inzwischen|seit (?:heute|kurzem)|neuerdings)(?:[\s,:;.!–—-]+|$)`),
		fix: re(`^(?:no\b|nope|sorry|actually|correction|i mean|wait|update|from now|as of|nowadays|now|since today|nein|nö|eigentlich|korrektur|vielmehr|ab |jetzt|mittlerweile|inzwischen|seit |neuerdings|genau genommen)`),
		remember: re(`^(?:(?:please|bitte)[ ,]+)?(?:(?:can|could|would) you (?:please )?)?(?:` +
			`(?:remember|note|keep in mind|bear in mind|don(?:'|’)?t forget|do not forget|never forget|make a note|memori[sz]e)(?: please)?(?: that|,? ?:) ?(.+)|` +
			`(?:remember|note|don(?:'|’)?t forget) ((?:i|i'm|i’m|my|we|our|i've|i’ve)\b.+)|` +
			`for future reference[,:] ?(.+)|i(?: want|(?:'|’)d like) you to remember(?: that)? ?(.+)|` +
			`(?:merk|merke|notier|notiere) dir(?: bitte| mal| bitte mal)?(?:,? dass (?P<de>.+)|,? ?: ?(.+))|` +
			`(?:denk|denke) (?:bitte )?dr?an,? dass (?P<de2>.+)|(?:vergiss|vergiß) (?:bitte )?nicht,? dass (?P<de3>.+)|(?:behalt|behalte)(?: bitte)?(?: im kopf)?,? dass (?P<de4>.+)|` +
			`(?:du sollst|ich möchte, dass du) dir merk(?:en|st),? dass (?P<de5>.+))$`),
		forget: re(`^(?:please )?(?:forget|you can forget|don(?:'|’)?t remember) (?:that |about )(.+)$|^(?:bitte )?(?:vergiss|vergiß)(?: bitte)?,? dass (?P<de>.+)$`),
		swap: re(`^(?:(?:it|that|this)(?: is|(?:'|’)s)? )?not (.{2,60}?),? but(?: rather)? (.{2,60})$|` +
			`^(?:(?:es|das|er|sie) (?:ist|sind|heißt) )?nicht (.{2,60}?),? sondern (.{2,60})$`),
		unreal: re(`\b(?:if|unless|suppose|supposing|imagine|pretend|as if|hypothetically|would|wish|could have|might be|let(?:'|’)s say|` +
			`wenn|falls|angenommen|stell dir vor|als ob|würde|wäre|hätte|könnte)\b`),
		tale: re(`\b(?:role-?play|pretend|imagine|fictional|a (?:short )?story|a poem|a novel|screenplay|character|translate|proofread|rewrite|correct this|cover letter|write an? |draft an? |for example|e\.g\.|hypothetical|` +
			`rollenspiel|geschichte|gedicht|roman|erfunden|übersetz\w*|korrigier\w*|umformulier\w*|schreib(?:e)? (?:mir )?(?:eine?n?|den) |zum beispiel|z\.\s?b\.|stell dir vor|angenommen)`),
		openings: re(`^(?:is|are|was|were|do|does|did|can|could|would|will|should|has|have|had|what|who|whom|whose|where|when|why|how|which|` +
			`ist|sind|war|weißt|kennst|erinnerst|hast|habe|kann|kannst|was|wer|wen|wem|wo|wann|warum|wieso|wie|welche\w*)\b`),

		noValue: regexp.MustCompile(`(?i)^(?:not|nicht|kein\w*|n't|that|dass|to|how|why|whether|ob|if|wenn|when|what|who|it|this|them|\?+|\.+)\b`),
		loosely: re(`^(?:hope|fear|peace|night|home$|the (?:moment|weekend)|least|all|a hurry|the past|my head|der hoffnung|angst|der nacht|ordnung|einer stunde|sich|der regel)\b`),
		passing: re(`^(?:so|too|very|really|pretty|quite|just|still|already|always|never|gone|broken|slow|slower|fast|late|dead|down|up|full|empty|wrong|right|ready|done|fine|good|bad|ok|okay|great|better|worse|` +
			`stuck|lost|cold|hot|sore|tired|busy|here|there|killing|hurting|running|failing|crashing|getting|going|driving|making|on fire|at risk|unclear|simple|clear|about|` +
			`zu|sehr|so|ganz|schon|noch|immer|nie|weg|kaputt|langsam|spät|leer|voll|falsch|richtig|fertig|gut|schlecht|krank|müde|hier|da|dort|unklar|klar|einfach)\b|\w+ing$`),
		unsaid: re(`^(?:.* )?(?:question|point|problem|issue|guess|idea|thoughts?|opinion|view|understanding|concern|impression|suggestion|answer|reply|request|code|error|output|program|function|tests?|` +
			`file|script|query|server|build|input|prompt|task|bad|mistake|fault|turn|feeling|pleasure|head|back|computer|laptop|screen|internet|connection|wifi|day|week|morning|evening|life|hope|fear|advice|bet|take|reason|excuse|aim here|intention|` +
			`frage|punkt|problem|idee|gedanke|meinung|ansicht|eindruck|vorschlag|antwort|bitte|fehler|ausgabe|programm|funktion|datei|skript|abfrage|aufgabe|schuld|gefühl|kopf|rücken|rechner|tag|woche|leben|hoffnung|angst|rat|grund|ziel dabei)$`),
		many: re(`(?:^| )(?:friend|colleague|brother|sister|son|daughter|child|kid|cousin|uncle|aunt|nephew|niece|neighbou?r|hobby|hobbies|pet|dog|cat|client|customer|project|goal|allergy|language|interest|` +
			`freund|freundin|kollege|kollegin|bruder|schwester|sohn|tochter|kind|cousine|onkel|tante|neffe|nichte|nachbar|nachbarin|haustier|hund|katze|kunde|kundin|projekt|ziel|allergie|sprache)s?$`),
		fenced:   regexp.MustCompile("(?s)```.*?(?:```|\\z)|~~~.*?(?:~~~|\\z)|`[^`\n]+`"),
		cited:    regexp.MustCompile(`(?m)^[ \t]*(?:>|\|).*$`),
		quoted:   regexp.MustCompile(`"[^"]+"|“[^”]+”|„[^“”"]+[“”"]|«[^»]+»|»[^«]+«`),
		headed:   regexp.MustCompile(`(?mi)^[ \t]*(?:from|to|cc|subject|date|sent|von|an|betreff|datum|gesendet)[ \t]*:[^\n]*$`),
		forwards: regexp.MustCompile(`(?mi)^[ \t]*(?:-{3,}.*(?:forwarded|original|weitergeleitete|ursprüngliche).*|on .{4,80} wrote:|am .{4,80} schrieb.{0,80}:)[ \t]*$`),
	}
	b.patterns = append(b.english(), b.german()...)
	return b
}

func re(s string) *regexp.Regexp { return regexp.MustCompile(`(?i)` + s) }

func fixed(key string) func([]string) string { return func([]string) string { return key } }

// manyValued reports whether a person may have several of what an attribute names.
func (b *phrasebook) manyValued(attribute string) bool {
	name, ok := strings.CutPrefix(attribute, "my ")
	return attribute == "prefers" || ok && b.many.MatchString(name)
}

// mine is the attribute of "my X is".
func (b *phrasebook) mine(groups []string) string {
	name := memory.Normal(groups[0])
	if name == "" || len(strings.Fields(name)) > 5 || b.unsaid.MatchString(name) {
		return ""
	}
	switch name {
	case "name", "full name", "first name", "vorname":
		return "name"
	}
	name = strings.NewReplacer("favorite", "favourite", "lieblings", "favourite ").Replace(name)
	return "my " + name
}

func (b *phrasebook) english() []pattern {
	return []pattern{
		{re: re(`^my (?:full |first |real )?name(?: is|(?:'|’)s) (?:actually |really )?([^,;]+)$`), attribute: fixed("name"), kind: agent.FactCore, confidence: 0.9, refuse: b.passing},
		{re: re(`^(?:please |you (?:can|may|should) )?(?:just )?call me ([^,;]+)$`), attribute: fixed("called"), kind: agent.FactCore, confidence: 0.9, refuse: re(`^(?:a|an|the|when|if|at|on|in|back|tomorrow|later|crazy|old|later|again)\b`)},
		{re: re(`^i(?:'m| am|’m)? (?:now )?liv(?:e|ing) (?:now )?in ([^,;]+(?:, [A-Z][^,;]+)?)$`), attribute: fixed("lives"), confidence: 0.9, refuse: b.loosely},
		{re: re(`^(?:i|we)(?:'ve| have|’ve)? (?:just |recently )?moved (?:house |back )?to ([^,;]+?)(?: (?:yesterday|today|last \w+|this \w+|in \w+(?: \d{4})?|recently|a \w+ ago))?$`), attribute: fixed("lives"), corrects: true, confidence: 0.9,
			text: func(_ string, g []string) string { return "I live in " + g[0] }},
		{re: re(`^i(?:'m| am|’m)? (?:now )?work(?:ing)? (?:now )?(?:at|for) ([^,;]+)$`), attribute: fixed("works"), confidence: 0.9, refuse: b.loosely},
		{re: re(`^i work (?:now )?as (an? [^,;]+)$`), attribute: fixed("job"), confidence: 0.9},
		{re: re(`^i(?:'d| would|’d)? (?:really |much )?prefer (.+)$`), attribute: fixed("prefers"), confidence: 0.8},
		{re: re(`^my ([\pL\pN'’ -]{2,60}?)(?: is| are|(?:'|’)s) (?:now |actually |called |named )*(.+)$`), attribute: b.mine, confidence: 0.7, refuse: b.passing},
	}
}

func (b *phrasebook) german() []pattern {
	return []pattern{
		{re: re(`^(?:mein name ist|ich heiße|ich heisse) (?:eigentlich |jetzt )?([^,;]+)$`), attribute: fixed("name"), kind: agent.FactCore, confidence: 0.9, refuse: b.passing},
		{re: re(`^(?:bitte )?(?:nenn|nenne) mich (?:bitte |einfach |doch )*([^,;]+)$`), attribute: fixed("called"), kind: agent.FactCore, confidence: 0.9},
		{re: re(`^(?:du kannst|du darfst) mich (?:einfach |gern |gerne )*([^,;]+) nennen$`), attribute: fixed("called"), kind: agent.FactCore, confidence: 0.9},
		{re: re(`^ich (?:wohne|lebe) (?:jetzt |nun |inzwischen |mittlerweile )?(?:in|im|bei|auf) ([^,;]+)$`), attribute: fixed("lives"), confidence: 0.9, refuse: b.loosely},
		{re: re(`^(?:ich bin|wir sind) (?:\w+ ){0,2}?nach ([^,;]+?) (?:um)?gezogen$`), attribute: fixed("lives"), corrects: true, confidence: 0.9,
			text: func(_ string, g []string) string { return "Ich wohne in " + g[0] }},
		{re: re(`^ich arbeite (?:jetzt |nun )?(?:bei|beim|für|an der|am) ([^,;]+)$`), attribute: fixed("works"), confidence: 0.9, refuse: b.loosely},
		{re: re(`^ich arbeite (?:jetzt )?als ([^,;]+)$`), attribute: fixed("job"), confidence: 0.9},
		{re: re(`^ich (?:bevorzuge|mag lieber|hätte lieber|habe lieber) (.+)$`), attribute: fixed("prefers"), confidence: 0.8},
		{re: re(`^mir (?:ist|sind) (.+) lieber$`), attribute: fixed("prefers"), confidence: 0.8},
		{re: re(`^mein(?:e|en)? ([\pL\pN' -]{2,60}?) (?:ist|sind|heißt|heisst|heißen|lautet) (?:jetzt |nun |eigentlich |nicht mehr .{1,60}? sondern )*(.+)$`), attribute: b.mine, confidence: 0.7, refuse: b.passing},
	}
}

// pronouns and determiners begin the subject of a German clause.
var pronouns = setOf("ich wir er sie es du man")

var determiners = setOf("mein meine meinen unser unsere der die das dein deine sein seine ihr ihre")

// verbSecond makes a main clause of what follows "merk dir, dass", which has its verb at the end: "ich in Graz wohne" is "Ich
// wohne in Graz". What is no such clause stays as it is.
func verbSecond(text string) string {
	head, tail, cut := strings.Cut(text, ",")
	words := strings.Fields(head)
	n := subject(words)
	if n == 0 || len(words) < n+2 {
		return text
	}
	verb := words[len(words)-1]
	if verb != strings.ToLower(verb) { // a noun: the verb stands elsewhere
		return text
	}
	rest := words[n : len(words)-1]
	out := strings.Join(words[:n], " ") + " " + verb + " " + strings.Join(rest, " ")
	if cut {
		out += "," + tail
	}
	return out
}

// subject returns how many words the subject has that a German clause begins with; 0 when that cannot be told.
func subject(words []string) int {
	if len(words) == 0 {
		return 0
	}
	first := strings.ToLower(words[0])
	switch {
	case pronouns()[first]:
		return 1
	case determiners()[first]:
		for i, w := range words[1:] {
			if capital(w) {
				return i + 2
			}
		}
		return 0
	case capital(words[0]):
		return 1
	}
	return 0
}

func capital(word string) bool {
	r, _ := utf8.DecodeRuneInString(word)
	return unicode.IsUpper(r)
}

// statement makes what follows "remember that" a sentence of its own.
func statement(text string, germanOrder bool) string {
	text = strings.TrimSpace(strings.TrimRight(strings.TrimSpace(text), ".!;,"))
	if germanOrder {
		text = verbSecond(text)
	}
	return upperFirst(text)
}
