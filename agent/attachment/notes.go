package attachment

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"

	"ash/agent"
)

const (
	tempPrefix  = ".put-"
	notesSuffix = ".json"
	// maxNotes bounds a notes file: the extract, each byte of which JSON may write as six, and the rest.
	maxNotes = 6*MaxExtract + 4<<10
)

// notes are what was found out about an attachment, so that it need not be found out again.
type notes struct {
	Media     string `json:"media"`
	Size      int64  `json:"size"`
	Width     int    `json:"width,omitempty"`
	Height    int    `json:"height,omitempty"`
	Extract   string `json:"extract,omitempty"`
	Truncated bool   `json:"truncated,omitempty"`
}

// part is the attachment as a message holds it.
func (n notes) part(hash, name string) agent.Part {
	a := agent.Attachment{Hash: hash, Name: name, Media: n.Media, Size: n.Size}
	labels := agent.Labels{{Source: label(name), Kind: agent.LabelUntrusted}}
	if strings.HasPrefix(n.Media, "image/") {
		return agent.Image{Attachment: a, Labels: labels}
	}
	return agent.File{Attachment: a, Extract: n.Extract, Truncated: n.Truncated, Labels: labels}
}

// label names a file as a source; a label's source has at most 256 bytes.
func label(name string) string { return agent.Clip("file:"+name, 256) }

// touch returns the notes of a stored attachment and makes it young again, so that
// Purge leaves it to the message that is about to name it. CodeInternal when only the notes cannot be used.
func (s *Store) touch(hash string) (notes, error) {
	s.sweeping.RLock()
	defer s.sweeping.RUnlock()
	info, err := s.root.Lstat(place(hash))
	if errors.Is(err, os.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return notes{}, agent.Wrap(agent.CodeNotFound, err, "This attachment does not exist, or no longer does.")
	}
	if err != nil {
		return notes{}, diskError(err)
	}
	now := time.Now()
	if err := s.root.Chtimes(place(hash), now, now); err != nil {
		return notes{}, diskError(err)
	}
	return s.readNotes(hash, info.Size())
}

// notes returns the notes of a stored attachment, made anew where they are missing or damaged.
func (s *Store) notes(ctx context.Context, hash string) (notes, error) {
	f, err := s.open(hash)
	if err != nil {
		return notes{}, err
	}
	defer func() { _ = f.Close() }() // nothing was written through it
	info, err := f.Stat()
	if err != nil {
		return notes{}, diskError(err)
	}
	n, err := s.readNotes(hash, info.Size())
	if err == nil {
		return n, nil
	}
	s.log.WarnContext(ctx, "notes of an attachment are made anew", slog.String("hash", hash), slog.Any("error", err))
	if n, err = s.inspect(ctx, "", f, info.Size()); err != nil {
		return notes{}, err
	}
	return n, s.writeNotes(hash, n)
}

// readNotes reads and checks a notes file.
func (s *Store) readNotes(hash string, size int64) (n notes, err error) {
	f, err := s.root.Open(place(hash) + notesSuffix)
	if err != nil {
		return notes{}, agent.Wrap(agent.CodeInternal, err, "What is known of this attachment cannot be read.")
	}
	defer func() { _ = f.Close() }() // nothing was written through it
	data, err := io.ReadAll(io.LimitReader(f, maxNotes))
	if err == nil {
		err = json.Unmarshal(data, &n)
	}
	if err != nil || n.Size != size || n.Media == "" || len(n.Extract) > MaxExtract {
		return notes{}, agent.Wrap(agent.CodeInternal, err, "What is known of this attachment is damaged.")
	}
	return n, nil
}

// writeNotes writes a notes file in one step. It need not be durable: notes can be made again.
func (s *Store) writeNotes(hash string, n notes) error {
	data, err := json.Marshal(n)
	if err != nil {
		return agent.Wrap(agent.CodeInternal, err, "The file cannot be kept. The log says why.")
	}
	f, temp, err := s.temp()
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = s.root.Rename(temp, place(hash)+notesSuffix)
	}
	if err != nil {
		return errors.Join(diskError(err), gone(s.root.Remove(temp)))
	}
	return nil
}

// sweepTemps removes unfinished uploads.
func (s *Store) sweepTemps() error {
	entries, err := fs.ReadDir(s.root.FS(), ".")
	if err != nil {
		return err
	}
	var failed []error
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), tempPrefix) {
			failed = append(failed, gone(s.root.Remove(e.Name())))
		}
	}
	return errors.Join(failed...)
}

// Purge removes attachments that keep does not name and that were neither put nor named by Part within the
// last olderThan, and returns how many and how many bytes. keep holds the hashes that messages refer to.
func (s *Store) Purge(ctx context.Context, keep map[string]struct{}, olderThan time.Duration) (removed int, bytes int64, err error) {
	before := time.Now().Add(-olderThan)
	folders, err := fs.ReadDir(s.root.FS(), ".")
	if err != nil {
		return 0, 0, diskError(err)
	}
	for _, folder := range folders {
		if !folder.IsDir() || len(folder.Name()) != 2 {
			continue
		}
		entries, err := fs.ReadDir(s.root.FS(), folder.Name())
		if err != nil {
			return removed, bytes, diskError(err)
		}
		for _, e := range entries {
			if err := ctx.Err(); err != nil {
				return removed, bytes, err
			}
			hash := strings.TrimSuffix(e.Name(), notesSuffix)
			if _, kept := keep[hash]; kept || checkHash(hash) != nil || hash[:2] != folder.Name() {
				continue
			}
			size, err := s.remove(hash, e.Name(), before)
			if err != nil {
				return removed, bytes, err
			}
			if size >= 0 && e.Name() == hash {
				removed, bytes = removed+1, bytes+size
			}
		}
	}
	return removed, bytes, nil
}

// remove deletes one file of an attachment unless it is younger than before; the size is -1 when it stays.
func (s *Store) remove(hash, name string, before time.Time) (int64, error) {
	s.sweeping.Lock()
	defer s.sweeping.Unlock()
	path := hash[:2] + "/" + name
	info, err := s.root.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return -1, nil
	}
	if err != nil {
		return -1, diskError(err)
	}
	if info.ModTime().After(before) {
		return -1, nil
	}
	if name != hash {
		// Notes go with their bytes, or alone when a crash left them behind.
		if _, err := s.root.Lstat(place(hash)); err == nil {
			return -1, nil
		}
		return -1, gone(s.root.Remove(path))
	}
	if err := s.root.Remove(path); err != nil {
		return -1, diskError(err)
	}
	return info.Size(), gone(s.root.Remove(path + notesSuffix))
}
