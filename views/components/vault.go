package components

// Unlock is the form that asks for the vault's passphrase, wherever something needs it.
type Unlock struct {
	Key     string // makes the ids of its fields unlike those of others on the page
	To      string // the address it posts to
	Back    string // page of Ash to go on with; "" the address decides
	Label   string // of the button; "" is Unlock
	Inside  bool   // it stands in a conversation: htmx answers in its place, and is told Key
	Problem string // why the last try did not go through
	Phrase  bool   // there is a recovery phrase to fall back on
	CSRF    string
}

func (u Unlock) label() string {
	if u.Label == "" {
		return "Unlock"
	}
	return u.Label
}

// KeyPlace is what the vault asks of somebody who pastes a key.
type KeyPlace string

// The places.
const (
	KeyNoVault KeyPlace = "none"   // there is no vault yet: a passphrase makes it
	KeyLocked  KeyPlace = "locked" // its passphrase is needed as well
	KeyOpen    KeyPlace = "open"   // nothing else is needed
	KeyAmiss   KeyPlace = "amiss"  // it cannot be opened as it stands: memory is all there is
)

// KeyForm is the form for the key of a provider, in the place where it is missing.
type KeyForm struct {
	Key     string // makes the ids of its fields unlike those of others on the page
	To      string // the address it posts to
	For     string // whose key
	Page    string // where the vendor gives keys out; "" when that is not known
	Place   KeyPlace
	Instead bool   // there is one, which the provider refuses
	Was     string // what becomes of that one
	Problem string // why the last try did not go through
	CSRF    string
}

// label is that of the field.
func (f KeyForm) label() string {
	if f.Instead {
		return "New key"
	}
	return "Key"
}

// VaultMark is what every page shows of the vault, beside its name in the navigation.
type VaultMark struct {
	Unlocked bool
	Remind   bool // of the recovery phrase
}

func (m VaultMark) icon() Icon {
	if m.Unlocked {
		return IconLockOpen
	}
	return IconLock
}
