package attachment

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"

	"ash/agent"
)

// Usable says what can be attached; it ends every refusal.
const Usable = "Pictures (PNG, JPEG, GIF, WebP), text of any kind (Markdown, code, CSV, JSON, …) and PDFs can be attached, up to 25 MB each."

// refuse is the answer to a file that cannot be used.
func refuse(cause error, why string) error {
	return agent.Wrap(agent.CodeInvalid, cause, "%s %s", why, Usable)
}

// inspect finds out what an upload is, from its bytes; the name only tells kinds of text apart.
func (s *Store) inspect(ctx context.Context, name string, f *os.File, size int64) (notes, error) {
	head := make([]byte, 4<<10)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return notes{}, diskError(err)
	}
	head = head[:n]
	out := notes{Size: size}
	if media := imageMedia(head); media != "" {
		out.Media = media
		out.Width, out.Height, err = measure(media, io.NewSectionReader(f, 0, size))
		return out, err
	}
	if bytes.HasPrefix(head, []byte("%PDF-")) {
		out.Media = "application/pdf"
		out.Extract, out.Truncated, err = s.readPDF(ctx, f, size)
		return out, err
	}
	if what := foreign(head); what != "" {
		return notes{}, refuse(nil, what)
	}
	out.Extract, out.Truncated, err = readText(ctx, io.NewSectionReader(f, 0, size))
	if err != nil {
		return notes{}, err
	}
	out.Media = textMedia(name, out.Extract, out.Truncated)
	return out, nil
}

// textMedia tells kinds of text apart. All are served as plain text would be.
func textMedia(name, text string, truncated bool) string {
	switch strings.ToLower(extension(name)) {
	case ".md", ".markdown":
		return "text/markdown"
	case ".csv":
		return "text/csv"
	}
	if trimmed := strings.TrimSpace(text); !truncated && strings.IndexAny(trimmed, "{[") == 0 && json.Valid([]byte(trimmed)) {
		return "application/json"
	}
	return "text/plain"
}

// foreign recognises common kinds of file that cannot be used, to say so by name.
func foreign(head []byte) string {
	for _, k := range []struct {
		at    int
		magic string
		why   string
	}{
		{0, "PK\x03\x04", "This is a ZIP archive or an Office document (DOCX, XLSX, …), which Ash cannot read: export it as PDF or text, or unpack it."},
		{0, "\xd0\xcf\x11\xe0", "This is an old Office document, which Ash cannot read: export it as PDF or text."},
		{0, "\x1f\x8b", "This is a compressed file (gzip), which Ash does not unpack."},
		{0, "BZh", "This is a compressed file (bzip2), which Ash does not unpack."},
		{0, "7z\xbc\xaf\x27\x1c", "This is a 7z archive, which Ash does not unpack."},
		{0, "Rar!", "This is a RAR archive, which Ash does not unpack."},
		{0, "\x7fELF", "This is a program, which cannot be attached."},
		{0, "MZ\x90", "This is a program, which cannot be attached."},
		{4, "ftyphei", "This is a HEIC picture, which Ash cannot use: save it as JPEG."},
		{4, "ftypmif1", "This is a HEIC picture, which Ash cannot use: save it as JPEG."},
		{4, "ftypavif", "This is an AVIF picture, which Ash cannot use: save it as PNG or JPEG."},
		{4, "ftyp", "This is a video or sound recording, which Ash cannot use."},
		{0, "ID3", "This is a sound recording, which Ash cannot use."},
		{0, "OggS", "This is a sound or video recording, which Ash cannot use."},
		{0, "fLaC", "This is a sound recording, which Ash cannot use."},
		{0, "\x1aE\xdf\xa3", "This is a video, which Ash cannot use."},
		{8, "WAVE", "This is a sound recording, which Ash cannot use."},
		{0, "II*\x00", "This is a TIFF picture, which Ash cannot use: save it as PNG or JPEG."},
		{0, "MM\x00*", "This is a TIFF picture, which Ash cannot use: save it as PNG or JPEG."},
		{0, "SQLite format 3\x00", "This is a database, which Ash cannot read."},
	} {
		if len(head) >= k.at+len(k.magic) && string(head[k.at:k.at+len(k.magic)]) == k.magic {
			return k.why
		}
	}
	return ""
}
