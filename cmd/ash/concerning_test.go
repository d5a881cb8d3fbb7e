package main

import (
	"strings"
	"testing"
)

// What is asked for when learning covers all that was said, in pieces that recall takes whole; of very much, the last.
func TestPieces(t *testing.T) {
	long := strings.Repeat("The weather was dull again and nobody came. ", 30)
	all := pieces(long + "\nMy aunt moved.\nIt is not Graz, but Linz.\n\n")
	if n := len(all); n < 4 || all[n-1] != "It is not Graz, but Linz. " || all[n-2] != "My aunt moved. " {
		t.Errorf("%d pieces: %q", len(all), all)
	}
	for _, p := range all {
		if len(p) > 2*piece {
			t.Errorf("a piece of %d bytes", len(p))
		}
	}
	if many := pieces(strings.Repeat("One line.\n", 500) + "The last."); len(many) != mostPieces || many[mostPieces-1] != "The last. " {
		t.Errorf("%d pieces, the last %q", len(many), many[len(many)-1])
	}
}
