package handlers

import (
	"slices"
	"testing"
)

func TestFramesLeaveNoTargetBehind(t *testing.T) {
	const (
		article = `<hx-upsert hx-target=#messages><article id="m-1"><div id="b-1" class="prose"></div><div id="s-1"></div></article></hx-upsert>`
		first   = `<hx-partial hx-target=#b-1 hx-swap=beforeend><p id="b-1-0">One</p></hx-partial>`
		more    = `<hx-partial hx-target=#b-1-0 hx-swap=beforeend> and two</hx-partial>`
		again   = `<hx-partial hx-target=#b-1-0 hx-swap=outerHTML><p id="b-1-0">One and two</p></hx-partial>`
		next    = `<hx-partial hx-target=#b-1 hx-swap=beforeend><p id="b-1-1">Three</p></hx-partial>`
		status  = `<hx-partial hx-target=#s-1 hx-swap=outerHTML><div id="s-1"></div></hx-partial>`
	)
	for name, want := range map[string][]string{
		"nothing":                       {""},
		"one fragment":                  {article},
		"all on the page":               {first + next},
		"into what has just come":       {article, first},
		"deeper each time":              {article, first, more},
		"into what was replaced":        {again, more},
		"replaced twice":                {again, again},
		"a longer name is another":      {`<hx-partial hx-target=#b-1 hx-swap=beforeend><p id="b-1-01">x</p></hx-partial>` + more},
		"a whole answer in one go":      {article, first + next + status},
		"only what the same one brings": {article, first, more + next + more + status},
	} {
		t.Run(name, func(t *testing.T) {
			var all []byte
			for _, w := range want {
				all = append(all, w...)
			}
			var got []string
			for f := range frames(all) {
				got = append(got, string(f))
			}
			if !slices.Equal(got, want) {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		})
	}
}
