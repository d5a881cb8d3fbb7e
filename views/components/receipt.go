package components

import "ash/agent"

// Receipt says which memories a reply was given.
type Receipt struct {
	Items []ReceiptItem
}

// ReceiptItem is one memory a reply was given, as it is now.
type ReceiptItem struct {
	Kind    agent.MemoryKind
	Fact    agent.ID // of a fact that is still there: it can be corrected and forgotten
	Message agent.ID // of a message: it can be forgotten
	Text    string   // "" when it was forgotten since
	URL     string   // "" when it is gone
	Source  string   // "you, 3 May 2023"
	Why     []string
	Sources []string // strangers that may have written it
	Past    string   // why a fact no longer holds: "replaced since"
}

func (r Receipt) title() string { return Plural(len(r.Items), "memory used", "memories used") }

func (i ReceiptItem) icon() Icon {
	switch i.Kind {
	case agent.MemoryMessage, agent.MemoryEpisode:
		return IconMessageCircle
	case agent.MemoryNote:
		return IconFileText
	}
	return IconBrain
}

// forget is where it can be forgotten; "" when it cannot be from here.
func (i ReceiptItem) forget() string {
	switch {
	case i.Fact != "":
		return "/memory/forget?fact=" + string(i.Fact)
	case i.Message != "":
		return "/memory/forget?message=" + string(i.Message)
	}
	return ""
}
