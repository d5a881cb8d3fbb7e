package components

import (
	"context"
	"io"

	"github.com/a-h/templ"

	"ash/agent"
)

// The fragments of the event stream. Ids are ours and hold no character that
// needs quoting, so patches leave the quotes out: a patch bears 50 bytes beside
// its HTML, and a streamed answer consists of little else.

// Swap says how a patch meets its target.
type Swap string

// The swaps a patch may use.
const (
	SwapAppend  Swap = "beforeend"
	SwapReplace Swap = "outerHTML"
	SwapInner   Swap = "innerHTML"
	SwapDelete  Swap = "delete"
)

// AppendPatch appends to dst one patch of the element with id target. html must be safe.
func AppendPatch(dst []byte, target string, swap Swap, html string) []byte {
	dst = append(dst, "<hx-partial hx-target=#"...)
	dst = append(dst, target...)
	dst = append(dst, " hx-swap="...)
	dst = append(dst, swap...)
	dst = append(dst, '>')
	dst = append(dst, html...)
	return append(dst, "</hx-partial>"...)
}

// StreamPatch is AppendPatch as a component.
func StreamPatch(target string, swap Swap, html string) templ.Component {
	return StreamComponent(target, swap, templ.Raw(html))
}

// StreamComponent patches the element with id target with a component.
func StreamComponent(target string, swap Swap, c templ.Component) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		return wrap(ctx, w, "<hx-partial hx-target=#"+target+" hx-swap="+string(swap)+">", c, "</hx-partial>")
	})
}

// StreamUpsert puts a message in its place by time, or replaces it.
func StreamUpsert(m Message) templ.Component {
	if m.State == agent.MessageQueued {
		return upsert("queued", "data-at", Queued(m))
	}
	return upsert("messages", "data-at", Article(m))
}

// StreamJoined takes a queued message out of the queue and puts it in the conversation.
func StreamJoined(m Message) templ.Component {
	return templ.Join(StreamPatch("m-"+string(m.ID), SwapDelete, ""), StreamUpsert(m))
}

// StreamClosed ends the streaming of an answer whose body is already on the
// page: its status goes, its actions and receipt come.
func StreamClosed(m Message) templ.Component {
	return templ.Join(
		StreamComponent("s-"+Short(m.ID), SwapReplace, Status(m)),
		StreamComponent("a-"+Short(m.ID), SwapReplace, Actions(m)),
	)
}

// StreamStatus says what an open answer is waiting for.
func StreamStatus(m Message) templ.Component {
	return StreamComponent("s-"+Short(m.ID), SwapReplace, Status(m))
}

// StreamCall replaces a call's card, or adds it to its message.
func StreamCall(message agent.ID, c Call) templ.Component {
	return upsert("x-"+Short(message), "", CallCard(c))
}

// StreamLane shows anew what a helper does.
func StreamLane(l Lane) templ.Component {
	return StreamComponent("l-"+string(l.Call), SwapReplace, HelperLane(l))
}

// StreamAll sets what one decision can cover of a reply's calls.
func StreamAll(b Batch) templ.Component {
	return StreamComponent("g-"+Short(b.Message), SwapReplace, DecideAll(b))
}

// StreamTurn sets the Send/Stop slot.
func StreamTurn(t Turn) templ.Component {
	return StreamComponent("composer-action", SwapReplace, ComposerAction(t))
}

// StreamThread puts a conversation's row in its place in the list, or replaces it.
func StreamThread(r ThreadRow, current agent.ID) templ.Component {
	return upsert("thread-list", "data-at sort=desc", Row(r, current))
}

// StreamThreadGone takes a conversation out of the list.
func StreamThreadGone(id agent.ID) templ.Component {
	return StreamPatch("t-"+string(id), SwapDelete, "")
}

// StreamHead replaces the title above the conversation.
func StreamHead(h ThreadHead) templ.Component {
	return StreamComponent("thread-head", SwapReplace, Head(h))
}

// StreamNotice shows a notice.
func StreamNotice(n Notice) templ.Component {
	return StreamComponent("notices", SwapAppend, Toast(n))
}

// StreamBadge sets the number of approvals waiting in the whole house.
func StreamBadge(waiting int) templ.Component {
	return templ.Join(
		StreamComponent("badge-rail", SwapReplace, Badge("badge-rail", waiting)),
		StreamComponent("badge-tab", SwapReplace, Badge("badge-tab", waiting)),
	)
}

// StreamVault says whether the vault is open.
func StreamVault(m VaultMark) templ.Component {
	return templ.Join(
		StreamComponent("vault-rail", SwapReplace, VaultEntry("vault-rail", m)),
		StreamComponent("vault-tab", SwapReplace, VaultEntry("vault-tab", m)),
	)
}

// StreamConversation shows a conversation anew: after its head moved, and after the
// stream lost track. It replaces messages, queue and what loads earlier ones.
func StreamConversation(c Conversation) templ.Component {
	return StreamComponent("conversation", SwapReplace, ConversationBody(c))
}

// upsert wraps a fragment for the upsert extension: replaced by id when it is
// there, else inserted by key.
func upsert(target, key string, c templ.Component) templ.Component {
	open := "<hx-upsert hx-target=#" + target
	if key != "" {
		open += " key=" + key
	}
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		return wrap(ctx, w, open+">", c, "</hx-upsert>")
	})
}

func wrap(ctx context.Context, w io.Writer, open string, c templ.Component, end string) error {
	if _, err := io.WriteString(w, open); err != nil {
		return err
	}
	if err := c.Render(ctx, w); err != nil {
		return err
	}
	_, err := io.WriteString(w, end)
	return err
}

// Conversation is the flow of messages: what can be shown anew as a whole.
type Conversation struct {
	Thread   agent.ID
	Messages []Message // the path, oldest first, without queued ones
	Queued   []Message
	Earlier  agent.ID // load what came before this message; "" when that is the beginning
	CSRF     string
}

func (c Conversation) earlierURL() string {
	return "/chat/" + string(c.Thread) + "?before=" + string(c.Earlier)
}

// StreamInbox puts an entry in the inbox, or replaces it.
func StreamInbox(e InboxEntry) templ.Component { return upsert("inbox", "data-at", InboxItem(e)) }

// StreamInboxGone takes the entry of a call out of the inbox.
func StreamInboxGone(id string) templ.Component { return StreamPatch(id, SwapDelete, "") }

// StreamProposal puts a proposal in the inbox.
func StreamProposal(p Proposal) templ.Component {
	return upsert("proposals", "data-at sort=desc", ProposalCard(p))
}

// StreamAnnounce has a screen reader say something.
func StreamAnnounce(text string) templ.Component {
	return StreamPatch("announce", SwapInner, templ.EscapeString(text))
}
