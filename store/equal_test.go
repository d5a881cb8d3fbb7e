package store

import (
	"encoding/json"
	"reflect"
	"testing"
)

// equal compares deeply and shows both sides as JSON.
func equal[T any](t testing.TB, got, want T) {
	t.Helper()
	if reflect.DeepEqual(got, want) {
		return
	}
	g, _ := json.MarshalIndent(got, "", " ")
	w, _ := json.MarshalIndent(want, "", " ")
	t.Fatalf("got %s\nwant %s", g, w)
}
