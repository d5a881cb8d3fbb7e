package pages

import "ash/views/layouts"

// SignIn is where somebody types the passphrase. It says nothing of the person or of what there is.
type SignIn struct {
	layouts.Page
	Back    string // where it leads
	Problem string // why the last attempt failed
	Again   bool   // this device was signed in until just now
}

// Pair is where a device gives the code of a screen that is signed in.
type Pair struct {
	layouts.Page
	Link    string // of the picture; "" when the code is typed
	Code    string
	Name    string // what the device is called
	Problem string
}

// PairWait is what a device shows until the other screen has said yes.
type PairWait struct {
	layouts.Page
	Check   string // both screens show it
	Name    string
	Problem string // how it ended without a session
}

// NotSignedIn answers somebody who wants to do something and is not in.
type NotSignedIn struct {
	layouts.Page
	Public string // what happened, and what to do
}

// DoorsClosed says to a device of the network that Ash cannot be reached from there any more.
type DoorsClosed struct {
	layouts.Page
	Moved bool // it is reached in another way now, rather than no more
}
