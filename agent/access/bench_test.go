package access_test

import (
	"context"
	"path/filepath"
	"testing"

	"ash/agent/access"
	"ash/store"
)

// BenchmarkSession looks up the session of a request; its baseline is a secret that cannot be one.
func BenchmarkSession(b *testing.B) {
	s, err := store.Open(context.Background(), store.Options{Path: filepath.Join(b.TempDir(), "ash.db")})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	doors := access.NewDoors(s, access.Cheap(access.DoorOptions{}))
	if err := doors.ResetPassphrase(b.Context(), []byte(good)); err != nil {
		b.Fatal(err)
	}
	var secret access.Secret
	for range access.MaxDevices {
		if _, secret, err = doors.SignIn(b.Context(), []byte(good), access.Arrival{Here: true}); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("signed in", func(b *testing.B) {
		for b.Loop() {
			if _, err := doors.Session(b.Context(), secret, phone); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("no secret", func(b *testing.B) {
		for b.Loop() {
			if _, err := doors.Session(b.Context(), secret[1:], phone); err == nil {
				b.Fatal("let in")
			}
		}
	})
}
