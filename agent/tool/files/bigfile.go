package files

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"strings"
)

// bigFile reads lines of a file that is not held in memory.
type bigFile struct {
	n     numberer
	whole bool   // read to the end, to know all lines and the hash
	hash  string // "" unless whole
	line  []byte // what there is of the open line, bounded
	rest  int    // bytes of it that were dropped
}

func (b *bigFile) read(ctx context.Context, r io.Reader) error {
	sum := sha256.New()
	buf := make([]byte, 256<<10)
	var total int64
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := r.Read(buf)
		if total += int64(n); b.whole && total > MaxHashed { // it grew meanwhile
			b.whole = false
		}
		if b.whole {
			sum.Write(buf[:n])
		}
		b.take(buf[:n])
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fileError(err, "The file cannot be read")
		}
		if b.n.full && !b.whole {
			b.n.counting = true
			return nil
		}
	}
	if len(b.line) > 0 {
		b.end("")
	}
	if b.whole {
		b.hash = sumOf(sum)
	}
	return nil
}

// take cuts bytes into lines.
func (b *bigFile) take(p []byte) {
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		piece := p
		if i >= 0 {
			piece = p[:i]
		}
		if room := 2*readLine - len(b.line); len(piece) > room {
			b.rest += len(piece) - max(room, 0)
			piece = piece[:max(room, 0)]
		}
		b.line = append(b.line, piece...)
		if i < 0 {
			return
		}
		b.end("\n")
		p = p[i+1:]
	}
}

func (b *bigFile) end(with string) {
	if b.n.full || b.n.seen+1 < b.n.first { // only counted
		b.n.add(with, 0)
	} else {
		b.n.add(strings.TrimSuffix(strings.ToValidUTF8(string(b.line), "\uFFFD"), "\r")+with, b.rest)
	}
	b.line, b.rest = b.line[:0], 0
}
