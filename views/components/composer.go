package components

import (
	"strconv"

	"ash/agent"
)

// Composer is where the person writes.
type Composer struct {
	Thread  agent.ID // "" begins a new conversation
	Form    string   // fresh id: the same one twice is one message; JavaScript makes its own for later ones
	Draft   string   // text to begin with
	Chips   []File   // attachments to begin with
	Models  []ModelChoice
	Model   string // the chosen one's Value; "" follows the settings
	Running bool   // a turn runs: Stop stands where Send was
	Waiting bool   // approvals wait; a message closes them
	MaxFile int64  // bytes an attachment may have
	CSRF    string
}

// ModelChoice is one entry of the model picker.
type ModelChoice struct {
	Value string // "provider/name"; "" is the default
	Title string
	Group string // provider's name; choices of one group follow each other
	Off   string // why it cannot be chosen now; "" when it can
}

func (c Composer) action() string {
	if c.Thread == "" {
		return "/chat"
	}
	return "/chat/" + string(c.Thread) + "/messages"
}

// Once puts a form's id into hx-vals; see FormID.
func Once(form string) string { return `{"form":` + strconv.Quote(form) + `}` }

// modelGroups cuts the choices where the group changes.
func (c Composer) modelGroups() [][]ModelChoice {
	var out [][]ModelChoice
	for i, m := range c.Models {
		if i == 0 || m.Group != c.Models[i-1].Group {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], m)
	}
	return out
}

// Turn is what the Send/Stop slot depends on.
type Turn struct {
	Thread  agent.ID
	Running bool
	Waiting bool
}
