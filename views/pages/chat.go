package pages

import (
	"ash/views/components"
	"ash/views/layouts"
)

// Screen says which of the two columns a phone shows.
type Screen string

// The screens of the chat page.
const (
	ScreenList         Screen = "list"
	ScreenConversation Screen = "conversation"
)

// Chat is the conversations page: the list beside one conversation.
type Chat struct {
	layouts.Page
	Screen       Screen
	List         components.ThreadList
	Head         components.ThreadHead // zero ID: a new conversation
	Conversation components.Conversation
	Composer     components.Composer
	Offline      bool   // no language model is set up: the empty page says so
	Greeting     string // the empty page's headline; "" has one of its own
}

func (c Chat) empty() bool {
	return len(c.Conversation.Messages) == 0 && len(c.Conversation.Queued) == 0
}

// ThreadMenu is the page behind a row's menu when there is no JavaScript.
type ThreadMenu struct {
	layouts.Page
	Head components.ThreadHead
}

// Receipt is the page of what an answer was given; with JavaScript the same stands in a sheet.
type Receipt struct {
	layouts.Page
	Receipt components.Receipt
}

// EditMessage is the page on which a message is edited without JavaScript; with it,
// the same form (EditForm) is loaded in place of the message.
type EditMessage struct {
	layouts.Page
	Message components.Message
	Form    string // fresh id: the same one twice is one message
}
