package components

// Unlock is the form that asks for the vault's passphrase, wherever something needs it.
type Unlock struct {
	Key     string // makes the ids of its fields unlike those of others on the page
	To      string // the address it posts to
	Back    string // page of Ash to go on with; "" the address decides
	Label   string // of the button; "" is Unlock
	Inside  bool   // it stands in a conversation: htmx answers in its place
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
