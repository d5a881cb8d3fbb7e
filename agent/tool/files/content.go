package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"os"
	"strings"

	"ash/agent"
)

// content is what a file held at one moment. The zero value is that of no file.
type content struct {
	raw   []byte
	size  int64
	mode  os.FileMode // permissions only
	info  os.FileInfo // nil when there is no file
	hash  string      // SHA-256, lower-case hex; "" when there is no file
	plain bool        // it is text
	text  string      // decoded
	form  form
}

// load reads a whole file, bounded by most, in bytes. A spot without a file is the zero content and no error.
func (s *spot) load(ctx context.Context, most int64) (content, error) {
	if s.info == nil {
		return content{}, nil
	}
	if err := s.ordinary(); err != nil {
		return content{}, err
	}
	f, info, err := openFile(s.root, s.path)
	if err != nil {
		return content{}, err
	}
	defer func() { _ = f.Close() }() // nothing was written through it
	raw, err := readAll(ctx, f, most, info.Size())
	if err != nil {
		return content{}, err
	}
	c := content{raw: raw, size: int64(len(raw)), mode: info.Mode().Perm(), info: info, hash: hashOf(raw)}
	return c, nil
}

// decode finds out whether the content is text.
func (c *content) decode() {
	if c.info != nil {
		c.text, c.form, c.plain = decode(c.raw)
	}
}

// fingerprint hashes a file without keeping it.
func fingerprint(ctx context.Context, root *os.Root, p string) (sum string, info os.FileInfo, err error) {
	f, info, err := openFile(root, p)
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written through it
	if info.Size() > MaxHashed {
		return "", info, errTooLarge(info.Size(), MaxHashed)
	}
	h := sha256.New()
	if _, err := copyBounded(ctx, h, f, MaxHashed); err != nil {
		return "", info, err
	}
	return sumOf(h), info, nil
}

func hashOf(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

func sumOf(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// readAll reads to the end, in steps, so that it ends with its context. hint is the size to expect.
func readAll(ctx context.Context, r io.Reader, most, hint int64) ([]byte, error) {
	if hint > most {
		return nil, errTooLarge(hint, most)
	}
	out := make([]byte, 0, min(max(hint, 0)+1, most+1))
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if len(out) == cap(out) {
			out = append(out, 0)[:len(out)]
		}
		n, err := r.Read(out[len(out):min(cap(out), len(out)+1<<20)])
		out = out[:len(out)+n]
		if int64(len(out)) > most {
			return nil, errTooLarge(int64(len(out)), most)
		}
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fileError(err, "The file cannot be read")
		}
	}
}

// copyBounded copies all of r, and fails when that is more than most bytes.
func copyBounded(ctx context.Context, w io.Writer, r io.Reader, most int64) (int64, error) {
	var total int64
	buf := make([]byte, 256<<10)
	for {
		if err := ctx.Err(); err != nil {
			return total, err
		}
		n, err := r.Read(buf)
		total += int64(n)
		if total > most {
			return total, errTooLarge(total, most)
		}
		if _, err := w.Write(buf[:n]); err != nil {
			return total, err
		}
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return total, fileError(err, "The file cannot be read")
		}
	}
}

func errTooLarge(size, most int64) error {
	return agent.Errorf(agent.CodeInvalid, "The file is too large for this: it has %s, and at most %s can be handled. Use a command, such as head, grep or sed, on it.", bytesOf(size), bytesOf(most))
}

// bytesOf writes a size for people.
func bytesOf(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
}

// mediaOf says what kind of bytes these are.
func mediaOf(head []byte) string {
	switch s := string(head[:min(len(head), 16)]); {
	case strings.HasPrefix(s, "\x7fELF"):
		return "a program (ELF)"
	case strings.HasPrefix(s, "MZ"):
		return "a program (Windows)"
	case strings.HasPrefix(s, "SQLite format 3\x00"):
		return "a database (SQLite)"
	case strings.HasPrefix(s, "PK\x03\x04"):
		return "a ZIP archive or an Office document"
	case strings.HasPrefix(s, "\xd0\xcf\x11\xe0"):
		return "an old Office document"
	}
	media, _, _ := strings.Cut(http.DetectContentType(head), ";")
	if media == "application/octet-stream" || strings.HasPrefix(media, "text/") {
		return "binary data"
	}
	return "binary data (" + media + ")"
}

// picture reports whether these are bytes of a picture that models take.
func picture(head []byte) bool {
	switch http.DetectContentType(head) {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}
