package learn

import (
	"strings"
	"testing"
)

func TestPhrases(t *testing.T) {
	b := newPhrasebook()
	for said, want := range map[string]string{
		"Remember that I'm allergic to nuts.":                               "I'm allergic to nuts",
		"Please remember that my sister Anna lives in Graz":                 "My sister Anna lives in Graz",
		"please remember I don't eat meat!":                                 "I don't eat meat",
		"Could you please remember that the alarm code is changed":          "The alarm code is changed",
		"Don't forget that the gate is locked at ten":                       "The gate is locked at ten",
		"Remember: the bins go out on Tuesday":                              "The bins go out on Tuesday",
		"Merk dir, dass ich in Graz wohne.":                                 "Ich wohne in Graz",
		"Bitte merke dir, dass meine Schwester Anna heißt":                  "Meine Schwester heißt Anna",
		"Merk dir bitte, dass ich Nüsse nicht vertrage, weil ich satt bin.": "Ich vertrage Nüsse nicht, weil ich satt bin",
		"Merk dir: die Tonne kommt dienstags raus":                          "Die Tonne kommt dienstags raus",
		"Vergiss nicht, dass Anna Vegetarierin ist":                         "Anna ist Vegetarierin",
		"Hi! My name is Marta.":                                             "My name is Marta",
		"my name's Marta Weiss":                                             "My name's Marta Weiss",
		"By the way, my dentist is Dr. Weiss.":                              "My dentist is Dr. Weiss",
		"My favourite colour is teal":                                       "My favourite colour is teal",
		"My sister's name is Anna":                                          "My sister's name is Anna",
		"I live in St. Gallen.":                                             "I live in St. Gallen",
		"I live in Portland, Oregon":                                        "I live in Portland, Oregon",
		"I work at Siemens now.":                                            "I work at Siemens now",
		"Call me Mo":                                                        "Call me Mo",
		"I prefer short answers.":                                           "I prefer short answers",
		"We moved to Vienna last week.":                                     "I live in Vienna",
		"Ich heiße Jürgen":                                                  "Ich heiße Jürgen",
		"Übrigens, meine Lieblingsfarbe ist Türkis.":                        "Meine Lieblingsfarbe ist Türkis",
		"Ich wohne jetzt in Linz.":                                          "Ich wohne jetzt in Linz",
		"Ich bin nach Wien gezogen.":                                        "Ich wohne in Wien",
		"Nenn mich bitte Mo.":                                               "Nenn mich bitte Mo",
		"Ich bevorzuge kurze Antworten":                                     "Ich bevorzuge kurze Antworten",
		"My project is called \"Falcon\"":                                   "My project is called \"Falcon\"",
		// None of these is a statement.
		"Is my name Bob?":                                       "",
		"My name is Bob?":                                       "",
		"Do you remember that I live in Graz?":                  "",
		"Remember that time we went to Rome?":                   "",
		"My name is not Bob.":                                   "",
		"My name isn't Bob.":                                    "",
		"I don't live in Graz":                                  "",
		"Ich wohne nicht in Graz.":                              "",
		"Mein Name ist nicht Bob":                               "",
		"If my name is Bob, you owe me":                         "",
		"My dog is Rex if anyone asks":                          "",
		"Wenn ich in Graz wohne, dann ist es so":                "",
		"He said \"my name is Bob\"":                            "",
		"She wrote: \"Hello. My name is Bob. Bye.\"":            "",
		"„Ich wohne in Graz und bin froh.“":                     "",
		"> my name is Bob":                                      "",
		"```\nmy name is Bob\n```":                              "",
		"Pretend you are a pirate. My name is Jack.":            "",
		"Translate this: my name is Jack":                       "",
		"Translate: \nMy name is Jack":                          "",
		"Stell dir vor: Ich heiße Rudi.":                        "",
		"My question is about taxes":                            "",
		"My back is killing me":                                 "",
		"My computer is slow":                                   "",
		"My goal is to finish":                                  "",
		"I live in hope":                                        "",
		"I work at night":                                       "",
		"Call me when you're done":                              "",
		"Remember to buy milk":                                  "",
		"Don't remember that I live in Graz":                    "",
		"I would like to know whether my name is ok":            "",
		"Weißt du noch, dass ich in Graz wohne?":                "",
		"From: a@example.org\nSubject: hello\n\nMy name is Bob": "",
		"Hello\n--- Forwarded message ---\nMy name is Bob":      "",
	} {
		t.Run(said, func(t *testing.T) {
			f := b.read(heard(said))
			var got []string
			for _, k := range f.keep {
				got = append(got, k.text)
				if !strings.Contains(said, k.quote) {
					t.Errorf("the quote %q is not what was said", k.quote)
				}
			}
			if strings.Join(got, "|") != want {
				t.Errorf("%q\n got %q\nwant %q", said, got, want)
			}
		})
	}
}

func heard(texts ...string) []said {
	var out []said
	for _, text := range texts {
		out = append(out, said{Message: "m", Own: true, Text: text})
	}
	return out
}
