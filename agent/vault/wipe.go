package vault

import (
	"reflect"
	"runtime"

	"filippo.io/age"
)

// Wipe overwrites a secret that is no longer needed. It is best effort: the garbage collector, the stream buffers
// of age and the system's swap may have copies.
func Wipe(b []byte) {
	clear(b)
	runtime.KeepAlive(b)
}

// wipeIdentity overwrites the private key inside an identity, which age offers no way to drop. Should age change
// its insides, nothing is overwritten and the test of it fails.
func wipeIdentity(id *age.X25519Identity) {
	if id == nil {
		return
	}
	field := reflect.ValueOf(id).Elem().FieldByName("secretKey")
	if field.IsValid() && field.Kind() == reflect.Slice && field.Type().Elem().Kind() == reflect.Uint8 {
		Wipe(field.Bytes())
	}
}
