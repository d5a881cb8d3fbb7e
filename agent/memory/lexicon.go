package memory

import (
	"strings"
	"sync"
)

// grammar are words that say nothing by themselves, folded: English, German, French and Spanish.
var grammar = setOf(`
	a aber about after again ago al all als also am an and any are as at au auch auf aus aux avec be because been before bei beim being between bin bis
	bist both but by can ce cette con could da dans das dass de dein deine deinen del dem den der des did die do does done dort down du during each ein
	eine einem einen einer eines el elle elles en er es est et etc every for from fur habe haben had has hat hatte hatten have having he her here hers
	hier him his how if ihm ihn ihr ihre ihrem ihren il ils im in into is ist it its ja just kann kein keine konnte la las le les lo los man many may
	might mit more most much must nach ne nein nicht no noch nor not now nur o oder of off ohne on ont onto or ou out over par para pas per por pour que
	qui quite really sans schon se sehr seid sein seit shall she should si sich sie sin since sind so soll some son sont still su sur sus than that the
	their theirs them then there these they this those to too uber um un una unas und under une unos unter until up very via vom von vor wann war waren
	warum was weil welche wenn wer werden were what when where which while who whom whose why wie will wird with without wo would wurde y yes you your
	yours zu zum zur
`, func(w string) string { return w })

// selfWords mean the one who speaks.
var selfWords = setOf(`
	i ich je ma me mein meine meinem meinen meiner mes mi mich mine mir mis moi mon my myself nous our ours owner person uns unser unsere us user we wir
	yo
`, func(w string) string { return w })

// commonStems are of words that half of all statements have: they do not tell one from another.
var commonStems = setOf(`
	arbeiten arbeitet bekommt bitte bought buy call called calls came come comes day days favorite favourite feel feels find findet finds gave gehen
	geht gestern get gets give gives go goes going good got great have heissen heisst heute jahr jahre keep keeps know knows kommen kommt leben lebt
	like liked likes live lived lives living love loves machen macht made mag make makes mogen month morgen move moved moves name named need needs neu
	new old plan planned plans please prefer preferred prefers remember sagt sagte said saw say says see sees start started starts tag take takes tell
	think thinks time today told tomorrow took use used uses using visit visits want wanted wants week went will wohnen wohnt work worked working works
	year years yesterday
`, stem)

// setOf is the set of some words, each as it says, made when it is first asked for.
func setOf(words string, as func(string) string) func() map[string]struct{} {
	return sync.OnceValue(func() map[string]struct{} {
		set := map[string]struct{}{}
		for _, w := range strings.Fields(words) {
			set[as(w)] = struct{}{}
		}
		return set
	})
}
