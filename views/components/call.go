package components

import (
	"time"

	"ash/agent"
)

// Call is a tool call as its card shows it, in every state alike after a reload.
type Call struct {
	ID        agent.ID
	Thread    agent.ID
	Name      string // the tool's name, for example "shell"
	Title     string // what it does, for people: "Run a command"; "" falls back to Name
	Target    string // what it touches, one short line: a host, a path
	Arguments string // exact arguments: a command as it would run, else indented JSON
	State     agent.CallState
	Question  bool     // waits for an answer in words
	Why       string   // one sentence: why it asks, or why it was refused
	Sources   []string // the untrusted sources the approval would name
	Binding   string   // what an approval is bound to; sent back with the decision
	Always    string   // label of the standing permission offered: "Always for this folder"; "" offers none
	Output    string   // text so far, or the whole result
	Clipped   bool     // Output is not everything
	Exit      *int
	Reason    string // the person's reason for denying
	Answer    string // the person's answer to a Question
	Started   time.Time
	Duration  time.Duration // of the run; 0 while it runs
	CSRF      string
}

func (c Call) title() string {
	if c.Title != "" {
		return c.Title
	}
	return c.Name
}

func (c Call) waiting() bool { return c.State == agent.CallWaiting }

// verdict says in a word or two how far the call has come.
func (c Call) verdict() string {
	switch c.State {
	case agent.CallProposed:
		return "getting ready"
	case agent.CallWaiting:
		return "waiting for you"
	case agent.CallApproved:
		return "about to run"
	case agent.CallStarted:
		return "running"
	case agent.CallFinished:
		return "done"
	case agent.CallFailed:
		return "failed"
	case agent.CallStopped:
		return "stopped"
	case agent.CallDenied:
		return "not allowed"
	case agent.CallSuperseded:
		return "you wrote on instead"
	case agent.CallCancelled:
		return "not run"
	case agent.CallUnknown:
		return "outcome unknown"
	}
	return string(c.State)
}

// tone picks the colour of the verdict.
func (c Call) tone() string {
	switch c.State {
	case agent.CallFinished:
		return "ok"
	case agent.CallFailed, agent.CallUnknown:
		return "bad"
	}
	return ""
}

// explain says what a state that is not self-evident means for the person.
func (c Call) explain() string {
	switch c.State {
	case agent.CallSuperseded:
		return "You sent a message instead of deciding, so this was not run."
	case agent.CallCancelled:
		return "This was not run: the conversation moved on, or the answer that asked for it was cut off."
	case agent.CallUnknown:
		return "Ash ended while this ran. It may or may not have taken effect; look before asking for it again."
	case agent.CallStopped:
		return "You stopped this while it ran. Part of it may have taken effect."
	}
	return ""
}

func (c Call) path(action string) string {
	return "/chat/" + string(c.Thread) + "/calls/" + string(c.ID) + "/" + action
}
