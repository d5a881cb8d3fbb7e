package archive

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path"
	"slices"
	"strings"

	"maps"

	"ash/agent"
)

// maxConversations bounds one conversations.json, maxConversation one conversation in it, in bytes.
const (
	maxConversations = 2 << 30
	maxConversation  = 64 << 20
)

// Foreign is an archive of conversations that ChatGPT or Claude gave out. Close it when done.
type Foreign struct {
	From string // "ChatGPT" or "Claude"

	source *source
	files  []string // the lists of conversations, in their order
}

// Left says what of an archive of conversations was not taken, and why.
type Left struct {
	Hidden     int      // messages that were never shown: instructions, tool calls and their results, reasoning
	Branches   int      // messages of variants that were not shown last
	Empty      int      // messages without text
	Files      int      // pictures, sounds and attached files
	Unreadable []string // conversations and messages that mean nothing, by name; at most 100
	More       int      // further ones
}

// unreadable notes what could not be read.
func (l *Left) unreadable(format string, args ...any) {
	if len(l.Unreadable) < 100 {
		l.Unreadable = append(l.Unreadable, agent.Clip(fmt.Sprintf(format, args...), 300))
		return
	}
	l.More++
}

// OpenForeign opens an archive of conversations: a conversations.json, a folder with it or a zip of that. It is told by what is in it. nil
// without an error is something else: lines of messages.
func OpenForeign(name string) (*Foreign, error) {
	s, err := foreignSource(name)
	if err != nil || s == nil {
		return nil, err
	}
	f := &Foreign{source: s}
	for _, file := range slices.Sorted(maps.Keys(s.files)) {
		if base := path.Base(file); base == "conversations.json" || strings.HasPrefix(base, "conversations-") && strings.HasSuffix(base, ".json") {
			f.files = append(f.files, file)
		}
	}
	if len(f.files) == 0 {
		err = agent.Errorf(agent.CodeInvalid, "There is no conversations.json in %s. An archive of Ash's own memory is taken in by ash memory import.", name)
	} else {
		f.From, err = f.detect()
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return f, nil
}

// foreignSource opens a folder, a zip, or one file of JSON that is a list; nil for anything else.
func foreignSource(name string) (*source, error) {
	info, err := os.Stat(name)
	if err != nil || info.IsDir() {
		return openSource(name)
	}
	if !info.Mode().IsRegular() {
		return nil, agent.Errorf(agent.CodeInvalid, "%s is no ordinary file.", name)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, agent.Wrap(agent.CodeUnavailable, err, "%s cannot be opened: %v.", name, errors.Unwrap(err))
	}
	head := make([]byte, 512)
	n, err := io.ReadFull(file, head)
	if err := errors.Join(notShort(err), file.Close()); err != nil {
		return nil, agent.Wrap(agent.CodeUnavailable, err, "%s cannot be read.", name)
	}
	head = bytes.TrimSpace(bytes.TrimPrefix(head[:n], []byte("\ufeff")))
	switch {
	case bytes.HasPrefix(head, []byte("PK")):
		return openZip(name)
	case !bytes.HasPrefix(head, []byte("[")):
		return nil, nil
	}
	open := func() (io.ReadCloser, error) { return os.Open(name) }
	return &source{files: map[string]*sourceFile{"conversations.json": {info.Size(), open}}, close: func() error { return nil }}, nil
}

func notShort(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// Close gives the archive back.
func (f *Foreign) Close() error { return f.source.close() }

// shape is what tells one kind of conversation from another.
type shape struct {
	Mapping  json.RawMessage `json:"mapping"`
	Messages json.RawMessage `json:"chat_messages"`
}

// detect says whose archive it is, by its first conversation that means something.
func (f *Foreign) detect() (string, error) {
	for raw, err := range f.conversations() {
		if err != nil {
			return "", err
		}
		var s shape
		if json.Unmarshal(raw, &s) != nil {
			continue
		}
		switch {
		case isObject(s.Mapping):
			return chatGPT, nil
		case bytes.HasPrefix(s.Messages, []byte("[")):
			return claude, nil
		}
	}
	return "", agent.Errorf(agent.CodeInvalid, "Its conversations are neither of ChatGPT nor of Claude.")
}

func isObject(raw json.RawMessage) bool { return bytes.HasPrefix(raw, []byte("{")) }

// conversations yields each element of the lists. After an error nothing follows.
func (f *Foreign) conversations() iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		for _, name := range f.files {
			for raw, err := range f.list(name) {
				if !yield(raw, err) || err != nil {
					return
				}
			}
		}
	}
}

func (f *Foreign) list(name string) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		r, err := f.source.files[name].open()
		if err != nil {
			yield(nil, errUnread(name, err))
			return
		}
		defer func() { _ = r.Close() }() // it was only read
		bounded := &bound{r: r, left: maxConversation, whole: maxConversations}
		in := bufio.NewReader(bounded)
		if mark, err := in.Peek(3); err == nil && string(mark) == "\ufeff" {
			if _, err := in.Discard(len(mark)); err != nil {
				yield(nil, errUnread(name, err))
				return
			}
		}
		d := json.NewDecoder(in)
		if t, err := d.Token(); err != nil || t != json.Delim('[') {
			yield(nil, agent.Wrap(agent.CodeInvalid, err, "%s is no list of conversations.", name))
			return
		}
		for n := 1; d.More(); n++ {
			bounded.left = maxConversation
			var raw json.RawMessage
			if err := d.Decode(&raw); err != nil {
				yield(nil, agent.Wrap(agent.CodeInvalid, err, "%s cannot be read from conversation %d on: it is damaged, too large, or only part of it is there. Nothing was imported.", name, n))
				return
			}
			if !yield(raw, nil) {
				return
			}
		}
		if _, err := d.Token(); err != nil {
			yield(nil, agent.Wrap(agent.CodeInvalid, err, "%s has no end: only part of it is there. Nothing was imported.", name))
		}
	}
}

// bound ends with an error what goes on for too long.
type bound struct {
	r           io.Reader
	left, whole int64
}

func (b *bound) Read(p []byte) (int, error) {
	if b.left < 0 || b.whole < 0 {
		return 0, errors.New("it is too large")
	}
	n, err := b.r.Read(p)
	b.left, b.whole = b.left-int64(n), b.whole-int64(n)
	return n, err
}

// Messages reads the conversations' messages, those of one in their order. own says that the person vouches for what they said. What is left out is
// added to left. An error, CodeInvalid, ends it.
func (f *Foreign) Messages(own bool, left *Left) iter.Seq2[Message, error] {
	read := readClaude
	if f.From == chatGPT {
		read = readChatGPT
	}
	return func(yield func(Message, error) bool) {
		n := 0
		for raw, err := range f.conversations() {
			if err != nil {
				yield(Message{}, err)
				return
			}
			n++
			for _, m := range read(raw, n, left) {
				m.Own = own && m.Owner
				if !yield(m, nil) {
					return
				}
			}
		}
	}
}

// named gives a conversation a name for people.
func named(n int, title string) string {
	if title = strings.Join(strings.Fields(title), " "); title != "" {
		return fmt.Sprintf("conversation %d, “%s”", n, agent.Clip(title, 80))
	}
	return fmt.Sprintf("conversation %d", n)
}

// fitting reports whether the names of a message can be kept.
func fitting(m Message) bool {
	return m.Thread != "" && m.ID != "" && len(m.Thread) <= maxName && len(m.ID) <= maxName && len(m.Text) <= maxLine
}
