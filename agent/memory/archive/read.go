package archive

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash"
	"io"
	"strings"

	"ash/agent"
)

// maxRecord bounds a line of a data file, in bytes.
const maxRecord = 32 << 20

// Archive is an archive of memory that was found whole and sound. Close it when done.
type Archive struct {
	Memory Memory

	source *source
	files  map[string]manifestFile
}

// Open opens an archive of memory, a folder or a zip, and reads all of it: every file is there and as it was written, and every line means
// something. Errors: CodeNotFound when there is nothing; CodeInvalid says what is wrong with it.
func Open(name string) (*Archive, error) {
	s, err := openSource(name)
	if err != nil {
		return nil, err
	}
	a, err := read(s)
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return a, nil
}

// Close gives the file or folder back.
func (a *Archive) Close() error { return a.source.close() }

// Note opens a note; what is read of it was checked.
func (a *Archive) Note(path string) (io.ReadCloser, error) {
	f := a.source.files[notesFolder+path]
	if f == nil {
		return nil, agent.Errorf(agent.CodeNotFound, "There is no note %s in the archive.", path)
	}
	return a.source.checked(a.files[notesFolder+path])
}

func read(s *source) (*Archive, error) {
	s = s.within(manifestName)
	m, err := s.manifest()
	if err != nil {
		return nil, err
	}
	a := &Archive{source: s, files: map[string]manifestFile{}}
	if err := a.list(m); err != nil {
		return nil, err
	}
	for _, step := range []func(manifestFile) error{a.verify, a.data} { // what is damaged is told from what is wrong
		for _, f := range m.Files {
			if err := step(f); err != nil {
				return nil, err
			}
		}
	}
	if err := a.check(); err != nil {
		return nil, err
	}
	for i, n := range a.Memory.Notes {
		a.Memory.Notes[i].Hash = a.files[notesFolder+n.Path].SHA256
	}
	if a.Memory.Counts() != m.Counts {
		return nil, agent.Errorf(agent.CodeInvalid, "The archive is not whole: its manifest counts other things than it holds. Nothing was taken in.")
	}
	return a, nil
}

// manifest reads what the archive says of itself.
func (s *source) manifest() (manifest, error) {
	var m manifest
	f := s.files[manifestName]
	if f == nil {
		return m, agent.Errorf(agent.CodeInvalid, "This is no archive of Ash's memory: it has no %s. Conversations from elsewhere are taken in by ash import messages.", manifestName)
	}
	r, err := f.open()
	if err != nil {
		return m, errUnread(manifestName, err)
	}
	text, err := io.ReadAll(io.LimitReader(r, maxManifest+1))
	if err := errors.Join(err, r.Close()); err != nil {
		return m, errUnread(manifestName, err)
	}
	var head struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	if err := json.Unmarshal(text, &head); err != nil || len(text) > maxManifest || head.Format != Format || head.Version < 1 {
		return m, agent.Wrap(agent.CodeInvalid, err, "%s is not that of an archive of Ash's memory. Nothing was taken in.", manifestName)
	}
	if head.Version > Version {
		return m, agent.Errorf(agent.CodeInvalid, "This archive was made by a newer Ash (format %d; this one knows %d). Bring Ash up to date first. Nothing was taken in.", head.Version, Version)
	}
	if err := strict(text, &m); err != nil {
		return m, agent.Wrap(agent.CodeInvalid, err, "%s is damaged: %v. Nothing was taken in.", manifestName, err)
	}
	return m, nil
}

// strict reads one JSON value that has known fields only: what is passed over would be lost.
func strict(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows its end")
	}
	return nil
}

// list compares the manifest with what is there.
func (a *Archive) list(m manifest) error {
	var total int64
	for _, f := range m.Files {
		limit := int64(maxData)
		switch {
		case notePath(f.Path):
			limit = maxNote
		case !dataNames[f.Path]:
			return agent.Errorf(agent.CodeInvalid, "The archive's manifest names %q, which is no file of such an archive. Nothing was taken in.", agent.Clip(f.Path, 120))
		}
		if _, twice := a.files[f.Path]; twice {
			return agent.Errorf(agent.CodeInvalid, "The archive's manifest names %s twice. Nothing was taken in.", f.Path)
		}
		if a.source.files[f.Path] == nil {
			return agent.Errorf(agent.CodeInvalid, "The archive is not whole: %s is missing. Nothing was taken in.", f.Path)
		}
		if total += max(f.Size, 0); f.Size < 0 || f.Size > limit || total > maxTotal {
			return errTooMuch()
		}
		a.files[f.Path] = f
	}
	for name := range dataNames {
		if _, ok := a.files[name]; !ok {
			return agent.Errorf(agent.CodeInvalid, "The archive is not whole: its manifest lacks %s. Nothing was taken in.", name)
		}
	}
	for name := range a.source.files {
		if _, ok := a.files[name]; !ok && name != manifestName && !isPage(name) {
			return agent.Errorf(agent.CodeInvalid, "%s was not in the archive when it was made. Take it out, or put notes into the folder of your notes. Nothing was taken in.", name)
		}
	}
	return nil
}

// notePath reports whether a name is that of a note: what package notes keeps.
func notePath(name string) bool {
	path, ok := strings.CutPrefix(name, notesFolder)
	return ok && len(path) <= 800 && strings.EqualFold(path[max(0, len(path)-3):], ".md") && len(path) > 3 && !hidden(path) && safe(name)
}

// dataNames are the files of data: all have to be there.
var dataNames = map[string]bool{
	factsFile: true, entitiesFile: true, conversationsFile: true, episodesFile: true, runsFile: true, proposalsFile: true,
	tombstonesFile: true, keysFile: true, recordsFile: true, noteListFile: true,
}

func errUnread(name string, err error) error {
	return agent.Wrap(agent.CodeInvalid, err, "%s in the archive cannot be read: it is damaged, or only part of it is there. Nothing was taken in.", name)
}

func errOther(name string) error {
	return agent.Errorf(agent.CodeInvalid, "%s in the archive is not as it was when the archive was made: it was changed, or only part of it is there. Nothing was taken in.", name)
}

// checked opens a file that ends with an error when it is not what the manifest says.
func (s *source) checked(f manifestFile) (io.ReadCloser, error) {
	r, err := s.files[f.Path].open()
	if err != nil {
		return nil, errUnread(f.Path, err)
	}
	return &checkedReader{file: f, in: r, hash: sha256.New(), left: f.Size}, nil
}

type checkedReader struct {
	file manifestFile
	in   io.ReadCloser
	hash hash.Hash
	left int64
}

func (c *checkedReader) Read(p []byte) (int, error) {
	n, err := c.in.Read(p[:min(int64(len(p)), c.left+1)])
	if c.left -= int64(n); c.left < 0 {
		return 0, errOther(c.file.Path)
	}
	c.hash.Write(p[:n])
	if errors.Is(err, io.EOF) && (c.left > 0 || hex.EncodeToString(c.hash.Sum(nil)) != c.file.SHA256) {
		return n, errOther(c.file.Path)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = errUnread(c.file.Path, err)
	}
	return n, err
}

func (c *checkedReader) Close() error { return c.in.Close() }

// verify reads a file to its end.
func (a *Archive) verify(f manifestFile) (err error) {
	r, err := a.source.checked(f)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	_, err = io.Copy(io.Discard, r)
	return err
}

// data reads what a file of data says.
func (a *Archive) data(f manifestFile) (err error) {
	if !dataNames[f.Path] {
		return nil
	}
	r, err := a.source.checked(f)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 0, 64<<10), maxRecord)
	for n := 1; in.Scan(); n++ {
		if err := a.Memory.take(f.Path, in.Bytes()); err != nil {
			return agent.Wrap(agent.CodeInvalid, err, "Line %d of %s in the archive cannot be used: %v. Nothing was taken in.", n, f.Path, err)
		}
	}
	if errors.Is(in.Err(), bufio.ErrTooLong) {
		return agent.Errorf(agent.CodeInvalid, "A line of %s in the archive is too long. Nothing was taken in.", f.Path)
	}
	return in.Err()
}

// take reads one line of a data file.
func (m *Memory) take(file string, line []byte) error {
	switch file {
	case factsFile:
		return takeLine(line, &m.Facts, Fact.Fact)
	case entitiesFile:
		return takeLine(line, &m.Entities, Entity.entity)
	case conversationsFile:
		return takeLine(line, &m.Conversations, same[Conversation])
	case episodesFile:
		return takeLine(line, &m.Episodes, episode.noun)
	case runsFile:
		return takeLine(line, &m.Runs, run.noun)
	case proposalsFile:
		return takeLine(line, &m.Proposals, proposal.noun)
	case tombstonesFile:
		return takeLine(line, &m.Tombstones, tombstone.noun)
	case keysFile:
		return takeLine(line, &m.Keys, func(k key) Key { return Key{k.ID, k.Key} })
	case recordsFile:
		return takeLine(line, &m.Records, func(r record) Record { return Record{r.Path, r.Hash, toLabels(r.Labels), r.Own} })
	}
	return takeLine(line, &m.Notes, same[Note])
}

func takeLine[J, N any](line []byte, to *[]N, noun func(J) N) error {
	var j J
	if err := strict(line, &j); err != nil {
		return err
	}
	*to = append(*to, noun(j))
	return nil
}
