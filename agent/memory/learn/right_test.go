package learn_test

import "testing"

// What is put right in so many words is kept although a model was asked and found nothing.
func TestPutRightBesideAModel(t *testing.T) {
	h := newHouse()
	h.fact("My flight is on Monday", nil)
	h.answers(`{"keep":[],"expire":[],"episode":{"text":"","entities":[]}}`)
	run(t, h.learner(nil), h.say("", "It's not Monday but Tuesday."))
	if got := h.texts(); got != "My flight is on Tuesday" {
		t.Errorf("current: %s; waiting: %s", got, h.waiting())
	}
}

// "No" before a statement turns nothing round in it; within one it does.
func TestNoBeforeAStatement(t *testing.T) {
	for said, want := range map[string]string{
		"Stimmt nicht, Eberhard hat am 9. Mai Geburtstag.": "Eberhard hat am 9. Mai Geburtstag",
		"No, Eberhard hat am 9. Mai Geburtstag.":           "Eberhard hat am 9. Mai Geburtstag",
		"Eberhard hat nicht am 9. Mai Geburtstag.":         "Eberhard hat am 8. Mai Geburtstag",
	} {
		h := newHouse()
		h.fact("Eberhard hat am 8. Mai Geburtstag", nil)
		h.answers(`{"keep":[{"text":"Eberhard hat am 9. Mai Geburtstag","quote":"` + said + `","message":"m1","replaces":["f1"],"confidence":0.9}],"expire":[]}`)
		run(t, h.learner(nil), h.say("", said))
		if got := h.texts(); got != want {
			t.Errorf("%s\ncurrent: %s; waiting: %s", said, got, h.waiting())
		}
	}
}
