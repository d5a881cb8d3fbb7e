package pages

import "ash/views/layouts"

// Failure is the error page: what happened and what to do.
type Failure struct {
	layouts.Page
	Status int    // HTTP status
	Public string // what the person reads
	Next   string // label of the one next step; "" is "Back to your conversations"
	URL    string // where it leads; "" is /chat
	Trace  string // request id to look for in the log; "" for none
}

func (f Failure) headline() string {
	switch f.Status {
	case 400, 413, 422:
		return "That did not work"
	case 401, 403:
		return "That is not allowed"
	case 404:
		return "There is nothing here"
	case 409:
		return "Somebody was faster"
	case 429, 507:
		return "A limit is reached"
	case 423:
		return "The vault is locked"
	case 502, 503, 504:
		return "Something does not answer"
	}
	return "Something went wrong"
}

func (f Failure) next() (label, url string) {
	label, url = f.Next, f.URL
	if label == "" {
		label = "Back to your conversations"
	}
	if url == "" {
		url = "/chat"
	}
	return label, url
}
