package pages

import "ash/views/layouts"

// Trust tells a device how to trust the certificate of this Ash.
type Trust struct {
	layouts.Page
	Fingerprint string // SHA-256, as devices show it
	Host        string // as the browser asked for it, with port
	System      string // "iPhone", "iPad", "Android", "Mac", "Windows", "Linux", "" when unknown: its steps are open
}

func (t Trust) is(systems ...string) bool {
	for _, s := range systems {
		if s == t.System {
			return true
		}
	}
	return false
}
