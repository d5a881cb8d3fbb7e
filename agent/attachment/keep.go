package attachment

import (
	"bytes"
	"context"
	"strings"

	"ash/agent"
)

// Keep stores text under its hash, whatever it looks like, and returns its name for a File part: the
// whole of a result of which a call keeps only the beginning. It is not inspected, since tools write what no
// text editor would: control characters, one endless line. NUL and broken UTF-8 become U+FFFD, and what goes beyond
// MaxSize is left out, with a last line that says so. Errors: CodeInvalid for nothing at all; CodeExhausted for a full disk.
func (s *Store) Keep(ctx context.Context, name string, text []byte) (agent.Attachment, error) {
	if len(text) == 0 {
		return agent.Attachment{}, agent.Errorf(agent.CodeInvalid, "There is nothing to keep.")
	}
	f, temp, err := s.temp()
	if err != nil {
		return agent.Attachment{}, err
	}
	defer s.discard(ctx, f, temp)
	kept := keepable(text)
	hash, size, err := receive(ctx, f, strings.NewReader(kept))
	if err != nil {
		return agent.Attachment{}, err
	}
	name = CleanName(name)
	n, err := s.touch(hash)
	if err != nil {
		n = notes{Size: size, Extract: kept}
		if len(kept) > MaxExtract {
			n.Extract, n.Truncated = cut(kept), true
		}
		n.Media = textMedia(name, n.Extract, n.Truncated)
		s.sweeping.RLock()
		defer s.sweeping.RUnlock()
		if err := s.keep(hash, f, temp, n); err != nil {
			return agent.Attachment{}, err
		}
	}
	return agent.Attachment{Hash: hash, Name: name, Media: n.Media, Size: size}, nil
}

// leftOut ends a text of which the rest was too much.
const leftOut = "\n[… the rest was left out here: more than is kept …]\n"

// keepable makes text fit to store: valid UTF-8 without NUL, at most MaxSize bytes.
func keepable(text []byte) string {
	cutting := len(text) > MaxSize
	if cutting {
		text = text[:MaxSize]
	}
	text = bytes.ReplaceAll(bytes.ToValidUTF8(text, []byte("\uFFFD")), []byte{0}, []byte("\uFFFD"))
	if !cutting && len(text) <= MaxSize {
		return string(text)
	}
	return agent.Clip(string(text), MaxSize-len(leftOut)) + leftOut
}
