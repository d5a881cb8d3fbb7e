package handlers

import (
	"bytes"
	"iter"

	"ash/handlers/sse"
)

// send sends the frame; only its last message moves the page to id.
func (t *tab) send(out *sse.Writer, id string) error {
	left := t.frame.Len()
	for f := range frames(t.frame.Bytes()) {
		if left -= len(f); left > 0 {
			if err := out.Send("", "", f); err != nil {
				return err
			}
			continue
		}
		return out.Send(id, "", f)
	}
	return nil
}

// partialTag begins a fragment for an element that must be on the page already.
var partialTag = []byte("<hx-partial hx-target=#")

// frames cuts what was rendered into the messages it has to travel in. htmx looks
// up the targets of all hx-partials of a message before it puts the first fragment in, so one
// that addresses what another of the same message brings or replaces would be lost: it goes into the next message.
func frames(rendered []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for at := 0; ; {
			i := bytes.Index(rendered[at:], partialTag)
			if i < 0 {
				break
			}
			at += i
			target, _, _ := bytes.Cut(rendered[at+len(partialTag):], []byte(" "))
			if bytes.Contains(rendered[:at], append(append([]byte(` id="`), target...), '"')) {
				if !yield(rendered[:at]) {
					return
				}
				rendered, at = rendered[at:], 0
			}
			at += len(partialTag)
		}
		yield(rendered)
	}
}
