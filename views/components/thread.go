package components

import (
	"strconv"
	"time"

	"ash/agent"
)

// ThreadList is the column of conversations.
type ThreadList struct {
	Rows     []ThreadRow // pinned first, then newest change first
	Query    string      // a search; Hits are its results and Rows is empty
	Hits     []Hit
	Current  agent.ID // the open conversation; "" for none
	Archived bool     // the list shows the archive
	Next     string   // cursor of the next page; "" at the end
	Now      time.Time
}

// ThreadRow is one conversation in the list.
type ThreadRow struct {
	ID       agent.ID
	Title    string // "" shows "New conversation"
	Snippet  string // one line
	Updated  time.Time
	Pinned   bool
	Archived bool
	Running  bool
	Waiting  int // approvals waiting for the person
}

func (r ThreadRow) title() string {
	if r.Title == "" {
		return "New conversation"
	}
	return r.Title
}

func (r ThreadRow) path() string { return "/chat/" + string(r.ID) }

// pinnedAhead lifts the sort key of pinned rows over every date.
const pinnedAhead = 1e14

// key sorts rows, highest first: pinned ones ahead, then by last change.
func (r ThreadRow) key() string {
	at := r.Updated.UnixMilli()
	if r.Pinned {
		at += pinnedAhead
	}
	return strconv.FormatInt(at, 10)
}

// group names the part of the list a row belongs to.
func (l ThreadList) group(r ThreadRow) string {
	if r.Pinned {
		return "Pinned"
	}
	days := int(midnight(l.Now.In(r.Updated.Location())).Sub(midnight(r.Updated)).Hours()+12) / 24
	switch {
	case days <= 0:
		return "Today"
	case days == 1:
		return "Yesterday"
	case days < 7:
		return "This week"
	case days < 31:
		return "This month"
	}
	return r.Updated.Format("January 2006")
}

// startsGroup reports whether row i is the first of its group.
func (l ThreadList) startsGroup(i int) bool {
	return i == 0 || l.group(l.Rows[i]) != l.group(l.Rows[i-1])
}

func (l ThreadList) moreURL() string {
	u := "/chat?after=" + l.Next
	if l.Archived {
		u += "&archived=1"
	}
	return u
}

// Hit is one result of a search.
type Hit struct {
	Thread  agent.ID
	Message agent.ID // "" when the title matched
	Title   string
	Role    agent.Role
	Speaker string // by the name an import gave; "" is the person, or Ash
	Said    string // when, in the words of an import that no date was found in
	Snippet []agent.SnippetPart
	Created time.Time
}

// by is who said it; "" for a title.
func (h Hit) by() string {
	if h.Role == "" {
		return ""
	}
	return Message{Role: h.Role, Speaker: h.Speaker}.name()
}

func (h Hit) path() string {
	p := "/chat/" + string(h.Thread)
	if h.Message != "" {
		p += "?at=" + string(h.Message) + "#m-" + string(h.Message)
	}
	return p
}

// ThreadHead is the bar above a conversation and the menu in it.
type ThreadHead struct {
	ID       agent.ID
	Title    string
	Pinned   bool
	Archived bool
	Model    string // the model in use, for people
	Spent    agent.MicroDollars
	CSRF     string
}

func (h ThreadHead) title() string { return ThreadRow{Title: h.Title}.title() }

func (h ThreadHead) path(action string) string { return "/chat/" + string(h.ID) + "/" + action }
