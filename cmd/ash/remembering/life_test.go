//go:build linux

package remembering

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// by says how something came about.
type by int

// Ways to tell, to correct and to forget.
const (
	nobody   by = iota
	learning    // said in passing; the model finds it once the conversation rests
	phrase      // in so many words: "remember that", "not this but that"
	tool        // the model calls a tool
	page        // the Memory page
	message     // with the message it was told in
)

// fact is something of the person's life.
type fact struct {
	n        int
	german   bool
	about    []string // names, as a model lists them
	told     string   // as the person says it
	text     string   // as a model words it
	question string
	value    string // a word that nothing else has
	way      by

	fixed   by     // how it was corrected
	retold  string // what the person says then
	newText string
	newer   string // the value since then
	gone    by     // how it was forgotten
}

// current is the value that holds after the corrections.
func (f *fact) current() string {
	if f.fixed != nobody {
		return f.newer
	}
	return f.value
}

// words makes up words: each is new.
type words struct {
	random *rand.Rand
	taken  map[string]bool
	days   int
}

func newWords() *words {
	return &words{random: rand.New(rand.NewPCG(20260501, 7)), taken: map[string]bool{}}
}

func (w *words) pick(list string) string {
	all := strings.Fields(list)
	return all[w.random.IntN(len(all))]
}

// name is a word that could be that of a town, a firm or a dog.
func (w *words) name() string {
	for {
		s := w.pick("Bel Dro Fal Gri Hov Kel Lum Mar Nor Pel Quil Ros Sel Tam Ulm Vel Wen Yar Zor Bran Cor Tris") +
			w.pick("va re mi lo du ne sa ta ki bo") + w.pick("nth rsk lm ndel rvik ttou stra gnola mbix dwell frost zell quist pond")
		if !w.taken[s] {
			w.taken[s] = true
			return s
		}
	}
}

// number is one as on a key, a form or a phone.
func (w *words) number() string {
	for {
		s := fmt.Sprintf("%d-%05d", 11+w.random.IntN(88), w.random.IntN(100_000))
		if !w.taken[s] {
			w.taken[s] = true
			return s
		}
	}
}

// day is a date that no other fact has and no clock shows.
func (w *words) day(german bool) string {
	d := w.days
	w.days++
	months := strings.Fields("January February March April May June July August September October November December")
	if german {
		months = strings.Fields("Januar Februar März April Mai Juni Juli August September Oktober November Dezember")
		return fmt.Sprintf("%d. %s %d", 2+d%27, months[d/27%12], 1941+d%13)
	}
	return fmt.Sprintf("%d %s %d", 2+d%27, months[d/27%12], 1955+d%17)
}

// topic is a way to say something of somebody: {who} they are, their {name}, the {value}.
type topic struct {
	told, text, question, retold, newText string
	kind                                  string // of value: name, number, day
}

// people are those of the person's life; each is spoken of in some of the topics.
var (
	people = strings.Fields(`sister:Hannah brother:Jonas mother:Ingrid father:Walter grandmother:Rosalind uncle:Bertram aunt:Cordula cousin:Felix
		neighbour:Priscilla boss:Mirjam landlord:Leopold dentist:Ottilie physiotherapist:Kaspar accountant:Theodora hairdresser:Silvio godson:Emil
		niece:Annika nephew:Valentin roommate:Gregor tutor:Beatrix mechanic:Rufus vet:Melina lawyer:Konstanze choirmaster:Ambrose gardener:Isolde
		plumber:Dagobert goddaughter:Fiona stepfather:Hubert optician:Ludmilla babysitter:Tabea driver:Norbert tailor:Zeno`)
	topics = []topic{
		{"my {who} {name} moved to {value} in May", "My {who} {name} moved to {value} in May", "Where does my {who} live?",
			"Actually, {name} lives in {value} now", "My {who} {name} lives in {value}", "name"},
		{"{name}, my {who}, works for {value}", "{name}, my {who}, works for {value}", "Which company does my {who} work at?",
			"{name} has changed jobs and works for {value} these days", "{name}, my {who}, works for {value}", "name"},
		{"my {who} {name} has a dog called {value}", "My {who} {name} has a dog called {value}", "What is the name of {name}'s dog?",
			"I had that wrong: the dog of {name} is called {value}", "The dog of my {who} {name} is called {value}", "name"},
		{"my {who} {name} was born on {value}", "My {who} {name} was born on {value}", "When is my {who}'s birthday?",
			"Sorry, {name} was born on {value}", "My {who} {name} was born on {value}", "day"},
		{"{name} is allergic to {value}, and as my {who} eats here often I should watch out", "My {who} {name} is allergic to {value}", "Is there anything my {who} must not eat?",
			"It turned out that {name} is allergic to {value} only", "My {who} {name} is allergic to {value}", "name"},
		{"you can reach my {who} {name} at extension {value}", "My {who} {name} can be reached at extension {value}", "How can I reach {name}?",
			"{name} has another extension, it is {value} now", "My {who} {name} can be reached at extension {value}", "number"},
		{"my {who} {name} plays in a band by the name of {value}", "My {who} {name} plays in a band by the name of {value}", "What is the band of my {who} called?",
			"The band of {name} is called {value} since last week", "The band of my {who} {name} is called {value}", "name"},
		{"{name} would love the new {value} novel as a present, my {who} said so", "My {who} {name} would love the new {value} novel as a present", "What could I give my {who} for Christmas?",
			"{name} would rather have the {value} novel as a present", "My {who} {name} would love the {value} novel as a present", "name"},
		{"my {who} {name} drives a {value}", "My {who} {name} drives a {value}", "What car does my {who} have?",
			"{name} sold the old car and drives a {value} now", "My {who} {name} drives a {value}", "name"},
		{"{name}, my {who}, took a degree at the college in {value}", "{name}, my {who}, took a degree at the college in {value}", "Where did {name} study?",
			"No, {name} took the degree in {value}", "{name}, my {who}, took a degree at the college in {value}", "name"},
	}
	leute = strings.Fields(`Schwägerin:Roswitha Schwager:Eberhard Tante:Gertrud Onkel:Reinhold Nachbar:Ulrich Chefin:Friederike Zahnarzt:Wendelin Vermieterin:Adelheid
		Oma:Hedwig Opa:Gottfried Nichte:Liesl Patensohn:Korbinian`)
	themen = []topic{
		{"{mine} {who} {name} wohnt in {value}", "{Mine} {who} {name} wohnt in {value}", "Wo wohnt {mine} {who}?",
			"Eigentlich wohnt {name} jetzt in {value}", "{Mine} {who} {name} wohnt in {value}", "name"},
		{"{name}, {mine} {who}, hat am {value} Geburtstag", "{name}, {mine} {who}, hat am {value} Geburtstag", "Wann hat {mine} {who} Geburtstag?",
			"Stimmt nicht, {name} hat am {value} Geburtstag", "{name}, {mine} {who}, hat am {value} Geburtstag", "day"},
		{"{mine} {who} {name} arbeitet bei der Firma {value}", "{Mine} {who} {name} arbeitet bei der Firma {value}", "Bei welcher Firma ist {name} angestellt?",
			"{name} arbeitet inzwischen bei {value}", "{Mine} {who} {name} arbeitet bei der Firma {value}", "name"},
	}
)

// own are facts of the person: told, question, retold, new wording.
var own = []topic{
	{"I take my coffee with {value} syrup", "", "How do I like my coffee?", "I have gone over to {value} syrup in my coffee", "I take my coffee with {value} syrup", "name"},
	{"my favourite restaurant is the {value}", "", "Which restaurant do I like best?", "My favourite restaurant is the {value} by now", "My favourite restaurant is the {value}", "name"},
	{"my bicycle is a {value}", "", "What make is my bike?", "My bicycle is a {value} since the old one was stolen", "My bicycle is a {value}", "name"},
	{"the spare key hangs behind the {value} clock", "", "Where do I keep the spare key?", "I moved the spare key, it hangs behind the {value} map", "The spare key hangs behind the {value} map", "name"},
	{"my locker at the pool has the number {value}", "", "Which locker is mine at the pool?", "At the pool I have got locker {value}", "My locker at the pool has the number {value}", "number"},
	{"I cannot stand the smell of {value}", "", "Which smell do I hate?", "", "", "name"},
	{"my blood pressure pills are called {value}", "", "What is the name of my medicine for blood pressure?", "My blood pressure pills are called {value} from this week on", "My blood pressure pills are called {value}", "name"},
	{"I sing in the choir of Saint {value}", "", "In which choir am I?", "", "", "name"},
	{"our boat lies in the harbour of {value}", "", "Where is our boat?", "We brought the boat to the harbour of {value}", "Our boat lies in the harbour of {value}", "name"},
	{"my insurance policy has the number {value}", "", "What is the number of my insurance?", "The new number of my insurance policy is {value}", "My insurance policy has the number {value}", "number"},
	{"the wedding anniversary of my parents is {value}", "", "When did my parents marry?", "", "", "day"},
	{"I went to school in {value}", "", "Where did I go to school?", "", "", "name"},
	{"the cat was named {value} by the children", "", "What is our cat called?", "The children call the cat {value} now", "The children call the cat {value}", "name"},
	{"on Thursdays I train at the {value} gym", "", "Where do I work out?", "On Thursdays I train at the {value} gym now", "On Thursdays I train at the {value} gym", "name"},
	{"my shoe size is {value} in the Korean system", "", "What size are my shoes?", "", "", "number"},
	{"the rent goes to the account of {value} Estates", "", "Whom do I pay the rent to?", "The rent goes to {value} Estates from June on", "The rent goes to {value} Estates", "name"},
	{"I learned to ski in {value}", "", "Where did I learn skiing?", "", "", "name"},
	{"my passport is in the {value} box", "", "Where is my passport?", "I put the passport into the {value} box", "My passport is in the {value} box", "name"},
	{"we want to spend the summer in {value}", "", "Where are we going on holiday this summer?", "We want to spend the summer in {value} after all", "We want to spend the summer in {value}", "name"},
	{"my favourite author is {value}", "", "Which writer do I love?", "My favourite author is {value} these days", "My favourite author is {value}", "name"},
	{"the heating was installed by {value} and Sons", "", "Who put in our heating?", "", "", "name"},
	{"the alarm at the office is handled by {value} Guards", "", "Which firm looks after the alarm at work?", "The alarm at the office is handled by {value} Guards now", "The alarm at the office is handled by {value} Guards", "name"},
	{"my bees stand in the orchard of {value}", "", "Where do I keep my bees?", "I moved my bees to the orchard of {value}", "My bees stand in the orchard of {value}", "name"},
	{"the piano is tuned by Madame {value}", "", "Who tunes our piano?", "", "", "name"},
	{"I keep my stamps in the album marked {value}", "", "In which album are my stamps?", "", "", "number"},
	{"my first teacher was Mister {value}", "", "Who was the first teacher I had?", "", "", "name"},
	{"the plot in the allotment garden has number {value}", "", "Which plot in the allotments is ours?", "", "", "number"},
	{"we order our firewood from {value}", "", "Where does our firewood come from?", "We order our firewood from {value} this year", "We order our firewood from {value}", "name"},
	{"my knee was operated at the {value} clinic", "", "Where did I have my knee surgery?", "", "", "name"},
	{"the recipe for plum cake is from the {value} cookbook", "", "Which book has the plum cake in it?", "", "", "name"},
	{"my chess club is called {value}", "", "What is the name of the club I play chess in?", "My chess club is called {value} after the merger", "My chess club is called {value}", "name"},
	{"the printer at home is a {value}", "", "Which printer do we have?", "The printer at home is a {value} now", "The printer at home is a {value}", "name"},
	{"I never fly with {value} Air", "", "Which airline do I avoid?", "", "", "name"},
	{"our house number in the land register is {value}", "", "What number has our house in the land register?", "", "", "number"},
	{"the tent is lent to the {value} family", "", "Who has our tent?", "The tent is lent to the {value} family", "The tent is lent to the {value} family", "name"},
	{"my desk lamp takes bulbs of type {value}", "", "What bulbs does my desk lamp need?", "", "", "number"},
	{"the children go to kindergarten {value}", "", "Which kindergarten are the children in?", "The children go to kindergarten {value} from autumn on", "The children go to kindergarten {value}", "name"},
	{"I proposed on the bridge of {value}", "", "Where did I propose?", "", "", "name"},
	{"the wine for guests is the {value} red", "", "Which wine do we give guests?", "The wine for guests is the {value} red from now on", "The wine for guests is the {value} red", "name"},
	{"my radio station is {value}", "", "What station do I listen to?", "My radio station is {value} lately", "My radio station is {value}", "name"},
	{"the sewing machine was repaired by {value}", "", "Who repaired the sewing machine?", "", "", "name"},
	{"I donate to the {value} shelter every December", "", "Which charity do I give money to?", "I donate to the {value} shelter now", "I donate to the {value} shelter every December", "name"},
	{"the ferry we always take is the {value}", "", "Which ferry do we take?", "", "", "name"},
	{"my grandfather's watch is kept in bank box {value}", "", "Where is the watch of my grandfather?", "", "", "number"},
}

// eigene are those of them that are told in German.
var eigene = []topic{
	{"ich trinke am liebsten Tee von {value}", "", "Welchen Tee trinke ich gern?", "Ich trinke jetzt am liebsten Tee von {value}", "Ich trinke am liebsten Tee von {value}", "name"},
	{"mein Fahrrad steht im Keller von {value}", "", "Wo steht mein Fahrrad?", "Mein Fahrrad steht inzwischen im Keller von {value}", "Mein Fahrrad steht im Keller von {value}", "name"},
	{"unsere Katze heißt {value}", "", "Wie heißt unsere Katze?", "", "", "name"},
	{"ich bin in {value} zur Schule gegangen", "", "Wo war ich in der Schule?", "", "", "name"},
	{"der Ersatzschlüssel liegt unter dem {value} Krug", "", "Wo liegt der Ersatzschlüssel?", "Der Ersatzschlüssel liegt jetzt unter dem {value} Krug", "Der Ersatzschlüssel liegt unter dem {value} Krug", "name"},
	{"mein Hausarzt ist Doktor {value}", "", "Wie heißt mein Hausarzt?", "Mein Hausarzt ist jetzt Doktor {value}", "Mein Hausarzt ist Doktor {value}", "name"},
	{"im Urlaub fahren wir nach {value}", "", "Wohin fahren wir in den Urlaub?", "Im Urlaub fahren wir doch nach {value}", "Im Urlaub fahren wir nach {value}", "name"},
	{"meine Versicherungsnummer lautet {value}", "", "Was ist meine Versicherungsnummer?", "", "", "number"},
	{"ich vertrage kein {value}", "", "Was vertrage ich nicht?", "", "", "name"},
	{"mein Lieblingsbuch ist von {value}", "", "Von wem ist mein Lieblingsbuch?", "Mein Lieblingsbuch ist neuerdings von {value}", "Mein Lieblingsbuch ist von {value}", "name"},
	{"der Hochzeitstag meiner Eltern ist der {value}", "", "Wann ist der Hochzeitstag meiner Eltern?", "", "", "day"},
	{"unsere Heizung hat die Firma {value} eingebaut", "", "Wer hat unsere Heizung eingebaut?", "", "", "name"},
	{"ich spiele Schach im Verein {value}", "", "In welchem Verein spiele ich Schach?", "Ich spiele jetzt Schach im Verein {value}", "Ich spiele Schach im Verein {value}", "name"},
	{"das Auto ist auf den Namen {value} zugelassen", "", "Auf welchen Namen ist das Auto zugelassen?", "", "", "name"},
	{"mein Klavierlehrer heißt {value}", "", "Wie heißt mein Klavierlehrer?", "Mein Klavierlehrer heißt {value} seit Mai", "Mein Klavierlehrer heißt {value}", "name"},
	{"die Bienen stehen am Hof von {value}", "", "Wo stehen die Bienen?", "", "", "name"},
	{"unser Brennholz kommt von {value}", "", "Woher kommt unser Brennholz?", "Unser Brennholz kommt heuer von {value}", "Unser Brennholz kommt von {value}", "name"},
	{"der Schrebergarten hat die Nummer {value}", "", "Welche Nummer hat der Schrebergarten?", "", "", "number"},
	{"meine Brille ist von Optik {value}", "", "Von welchem Optiker ist meine Brille?", "", "", "name"},
	{"das Rezept für den Zwetschkenkuchen ist von {value}", "", "Von wem habe ich das Rezept für Zwetschkenkuchen?", "", "", "name"},
	{"ich singe im Chor von {value}", "", "In welchem Chor singe ich?", "Ich singe jetzt im Chor von {value}", "Ich singe im Chor von {value}", "name"},
	{"den Wein kaufen wir bei {value}", "", "Bei wem kaufen wir Wein?", "Den Wein kaufen wir jetzt bei {value}", "Den Wein kaufen wir bei {value}", "name"},
	{"der Hund vom Hausmeister heißt {value}", "", "Wie heißt der Hund des Hausmeisters?", "", "", "name"},
	{"mein Spind im Hallenbad ist {value}", "", "Welchen Spind habe ich im Hallenbad?", "Mein Spind im Hallenbad ist jetzt {value}", "Mein Spind im Hallenbad ist {value}", "number"},
}

// projects have three facts each.
var (
	projects = strings.Fields("Heron Juniper Magnet Tundra Oxbow Lantern Saffron Pebble Cobalt Thistle Mosaic Anchor")
	works    = []topic{
		{"project {name} is due on {value}", "Project {name} is due on {value}", "When is the deadline of project {name}?", "Project {name} was put off, it is due on {value}", "Project {name} is due on {value}", "day"},
		{"project {name} is led by Professor {value}", "Project {name} is led by Professor {value}", "Who is in charge of project {name}?", "Project {name} is led by Professor {value} since Monday", "Project {name} is led by Professor {value}", "name"},
		{"the customer of project {name} is {value} Limited", "The customer of project {name} is {value} Limited", "Who pays for project {name}?", "The customer of project {name} has changed, it is {value} Limited", "The customer of project {name} is {value} Limited", "name"},
	}
)

// life makes n facts, about as many of each kind as there are in 300.
func life(n int) []*fact {
	w := newWords()
	var all []*fact
	add := func(t topic, german bool, who, name, mine string) {
		if t.text == "" {
			t.text = upper(t.told)
		}
		value, newer := w.value(t.kind, german), w.value(t.kind, german)
		say := func(pattern, value string) string {
			return strings.NewReplacer("{who}", who, "{name}", name, "{value}", value, "{mine}", mine, "{Mine}", upper(mine)).Replace(pattern)
		}
		f := &fact{
			german: german, told: say(t.told, value), text: say(t.text, value), question: say(t.question, ""), value: value, newer: newer, newText: say(t.newText, newer),
		}
		if t.retold != "" {
			f.retold = say(t.retold, newer)
		}
		if name != "" {
			f.about = []string{name}
		}
		all = append(all, f)
	}
	for i, p := range people {
		who, name, _ := strings.Cut(p, ":")
		for j := range 5 {
			add(topics[(i+2*j+j*j)%len(topics)], false, who, name, "my")
		}
	}
	for _, t := range own {
		add(t, false, "", "", "")
	}
	for _, p := range projects {
		for _, t := range works {
			add(t, false, "", p, "")
		}
	}
	for _, p := range leute {
		who, name, _ := strings.Cut(p, ":")
		mine := "mein"
		if strings.HasSuffix(who, "in") || who == "Tante" || who == "Oma" || who == "Nichte" {
			mine = "meine"
		}
		for _, t := range themen {
			add(t, true, who, name, mine)
		}
	}
	for _, t := range eigene {
		add(t, true, "", "", "")
	}
	w.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	all = all[:n]
	assign(all)
	return all
}

func (w *words) value(kind string, german bool) string {
	switch kind {
	case "day":
		return w.day(german)
	case "number":
		return w.number()
	}
	return w.name()
}

// assign says how each fact is told, and which are corrected (a fifth) and forgotten (two in fifteen).
func assign(all []*fact) {
	fixes := []by{learning, page, learning, phrase, learning, tool}
	ends := []by{page, tool, page, message}
	fixed, gone := 0, 0
	for i, f := range all {
		f.n = i
		f.way = []by{learning, phrase, learning, tool, learning, phrase, learning}[i%7]
	}
	for i, f := range all {
		if f.retold != "" && fixed < len(all)/5 && (i%3 == 0 || len(all)-i <= len(all)/5-fixed) {
			f.fixed = fixes[fixed%len(fixes)]
			fixed++
		}
	}
	for i := range all {
		// Some of those that were corrected are among them: their history goes as well.
		if f := all[(i*11+4)%len(all)]; f.gone == nobody && gone < len(all)*2/15 {
			f.gone = ends[gone%len(ends)]
			if gone++; f.gone == message && f.fixed != nobody {
				f.gone = page // what was corrected stands in two messages
			}
		}
	}
}

func upper(s string) string {
	for _, r := range s {
		return strings.ToUpper(string(r)) + s[len(string(r)):]
	}
	return s
}
