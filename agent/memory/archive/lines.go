package archive

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"

	"ash/agent"
)

const (
	// maxLine bounds a line of an archive, in bytes.
	maxLine = 4 << 20
	// maxName bounds thread, id, speaker and time, in bytes.
	maxName = 512
	// batch is how many messages are stored in one transaction.
	batch = 1000
	// batchBytes bounds the texts of those, so that they fit one request.
	batchBytes = 8 << 20
)

// Message is a message of an archive.
type Message struct {
	Thread    string // its conversation's name there
	Title     string // of the conversation; "" takes Thread
	ID        string // unique within Thread
	Speaker   string
	Time      string // RFC 3339, or as it was said; "" when it was not
	Text      string
	Assistant bool // an assistant said it
	Owner     bool // the person said it, whatever Speaker is
	Own       bool // the person vouches for it: it counts as their own words
}

// Voice is who said an imported message, and when, where the message itself does not tell.
type Voice struct {
	Name    string // as the archive has it; "" for the owner
	Undated bool   // no date was found in Said: when it was said is not known
	Said    string // the time in the archive's words; "" when it has none
}

// Keeper stores messages. The store implements it.
type Keeper interface {
	// ImportMessages stores messages in one transaction, those of a thread in their order, and returns how many were new.
	ImportMessages(ctx context.Context, list []Message) (added int, err error)
}

// Result says what an import did.
type Result struct {
	Messages int // in the archive
	Added    int // that were not there
}

// Lines reads an archive of lines {"thread","id","speaker","time","text"}. Empty lines are passed over. An
// error, CodeInvalid, names the line; nothing follows it. A line without an id is known by what it says.
func Lines(r io.Reader) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		in := bufio.NewReaderSize(r, 64<<10)
		twins := map[string]int{}
		for n := 1; ; n++ {
			line, err := readLine(in)
			if errors.Is(err, io.EOF) {
				return
			}
			var m Message
			if err == nil {
				if len(line) == 0 {
					continue
				}
				m, err = parse(line, twins)
			}
			if err != nil {
				yield(Message{}, at(n, err))
				return
			}
			if !yield(m, nil) {
				return
			}
		}
	}
}

// at says in which line it went wrong.
func at(n int, err error) error {
	var known *agent.Error
	if errors.As(err, &known) {
		return agent.Wrap(known.Code, known.Err, "Line %d: %s", n, known.Public)
	}
	return agent.Wrap(agent.CodeUnavailable, err, "Line %d: the archive cannot be read.", n)
}

// readLine returns the next line without white space around it.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		piece, err := in.ReadSlice('\n')
		line = append(line, piece...)
		if len(line) > maxLine {
			return nil, agent.Errorf(agent.CodeInvalid, "it is longer than %d MB.", maxLine>>20)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(line) > 0, err == nil:
			return bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\ufeff"))), nil
		}
		return nil, err
	}
}

// lineJSON is a line. An id may be a number.
type lineJSON struct {
	Thread  name `json:"thread"`
	ID      name `json:"id"`
	Speaker *string
	Time    string
	Text    *string
}

// name is a text, or a number taken as one.
type name string

// UnmarshalJSON implements json.Unmarshaler.
func (n *name) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && (b[0] == '-' || b[0] >= '0' && b[0] <= '9') {
		*n = name(b)
		return nil
	}
	return json.Unmarshal(b, (*string)(n))
}

func parse(line []byte, twins map[string]int) (Message, error) {
	if !utf8.Valid(line) {
		return Message{}, agent.Errorf(agent.CodeInvalid, "it is not UTF-8.")
	}
	var in lineJSON
	if err := json.Unmarshal(line, &in); err != nil {
		return Message{}, agent.Wrap(agent.CodeInvalid, err, "it is not a JSON object with thread, id, speaker, time and text: %v", err)
	}
	switch {
	case in.Text == nil:
		return Message{}, agent.Errorf(agent.CodeInvalid, `it has no "text".`)
	case in.Speaker == nil || strings.TrimSpace(*in.Speaker) == "":
		return Message{}, agent.Errorf(agent.CodeInvalid, `it has no "speaker".`)
	}
	m := Message{Thread: string(in.Thread), ID: string(in.ID), Speaker: strings.TrimSpace(*in.Speaker), Time: strings.TrimSpace(in.Time), Text: *in.Text}
	for field, value := range map[string]string{"thread": m.Thread, "id": m.ID, "speaker": m.Speaker, "time": m.Time} {
		if len(value) > maxName {
			return Message{}, agent.Errorf(agent.CodeInvalid, "its %q is longer than %d bytes.", field, maxName)
		}
	}
	if m.Thread == "" {
		m.Thread = "messages"
	}
	if m.ID == "" {
		m.ID = byContent(m, twins)
	}
	switch strings.ToLower(m.Speaker) {
	case "assistant", "ash", "chatgpt", "claude":
		m.Assistant = true
	}
	return m, nil
}

// byContent names a message that has no id, the same whenever the archive is read.
func byContent(m Message, twins map[string]int) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{m.Thread, m.Speaker, m.Time, m.Text}, "\x00")))
	id := "line-" + hex.EncodeToString(sum[:12])
	twins[id]++
	if n := twins[id]; n > 1 {
		id += "-" + strconv.Itoa(n)
	}
	return id
}

// Check reads an archive to its end. An archive without a message is CodeInvalid.
func Check(messages iter.Seq2[Message, error]) (int, error) {
	n := 0
	for _, err := range messages {
		if err != nil {
			return n, err
		}
		n++
	}
	if n == 0 {
		return 0, agent.Errorf(agent.CodeInvalid, "There is no message in it.")
	}
	return n, nil
}

// Import stores the messages of an archive that was checked. Broken off, it has stored whole batches: the result says how
// many, and running it again adds the rest.
func Import(ctx context.Context, k Keeper, messages iter.Seq2[Message, error]) (Result, error) {
	var done Result
	list, size := make([]Message, 0, batch), 0
	flush := func() error {
		if len(list) == 0 {
			return nil
		}
		added, err := k.ImportMessages(ctx, list)
		if err != nil {
			return err
		}
		done.Messages, done.Added = done.Messages+len(list), done.Added+added
		list, size = list[:0], 0
		return nil
	}
	for m, err := range messages {
		if err != nil {
			return done, err
		}
		size += len(m.Text)
		if list = append(list, m); len(list) == batch || size >= batchBytes {
			if err := flush(); err != nil {
				return done, err
			}
		}
	}
	return done, flush()
}
