package archive

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"ash/agent"
)

// inMemory opens a zip that is no file.
func inMemory(in []byte) (*Archive, error) {
	z, err := zip.NewReader(bytes.NewReader(in), int64(len(in)))
	if err != nil {
		return nil, agent.Wrap(agent.CodeInvalid, err, "no zip")
	}
	s := &source{files: map[string]*sourceFile{}, close: func() error { return nil }}
	if err := s.putZip(z); err != nil {
		return nil, err
	}
	return read(s)
}

// small is an archive with one fact and one note.
func small(t testing.TB) []byte {
	t.Helper()
	at := time.Date(2025, 5, 3, 10, 0, 0, 0, time.UTC)
	m := &Memory{
		Facts: []agent.Fact{{
			ID: "0196b000-0000-7000-8000-000000000001", Kind: agent.FactPlain, Status: agent.FactCurrent, Text: "Anna lives in Wien", Created: at, Updated: at,
			Source: agent.Provenance{Kind: agent.SourcePerson},
		}},
		Notes: []Note{{Path: "a.md", Modified: at}},
	}
	var b bytes.Buffer
	if err := Write(&b, m, func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("# A\n")), nil }); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Whatever bytes an archive has, it is refused in words, or taken and written again.
func FuzzArchive(f *testing.F) {
	f.Add(small(f))
	f.Add([]byte("PK\x05\x06" + strings.Repeat("\x00", 18)))
	f.Fuzz(func(t *testing.T, in []byte) {
		a, err := inMemory(in)
		if err != nil {
			if agent.CodeOf(err) != agent.CodeInvalid {
				t.Fatal(err)
			}
			return
		}
		if err := Write(io.Discard, &a.Memory, a.Note); err != nil {
			t.Fatal(err)
		}
	})
}

// Whatever stands in the files, with sums that are right: it is refused in words, or it is the same when it is written and read again.
func FuzzData(f *testing.F) {
	m := Memory{}
	names := make([]string, 0, len(dataNames))
	for _, d := range m.dataFiles() {
		names = append(names, d.name)
	}
	for i, line := range []string{
		`{"id":"0196b000-0000-7000-8000-000000000001","kind":"core","status":"current","text":"x","confidence":1,"importance":0.5,"source":{"kind":"person"},"labels":[{"source":"s","kind":"untrusted"}]}`,
		`{"id":"0196b000-0000-7000-8000-000000000001","name":"Anna","kind":"person","aliases":["Ann"]}`,
		`{"id":"0196b000-0000-7000-8000-000000000001","title":"t","created":"2025-05-03T10:00:00.000123Z"}`,
		`{"conversation":"0196b000-0000-7000-8000-000000000001","text":"x"}`,
		`{"id":"0196b000-0000-7000-8000-000000000001","kind":"learn","changes":[]}`,
		`{"id":"0196b000-0000-7000-8000-000000000001","action":"keep","fact":{"kind":"fact","status":"current","text":"x","confidence":0,"importance":0,"source":{"kind":"note"}}}`,
		`{"id":"0196b000-0000-7000-8000-000000000001","key":"0011223344556677","hashes":["00112233445566778899aabbccddeeff"]}`,
		`{"id":"x","key":"00"}`, `{"path":"a/","labels":[]}`, `{"path":"a.md"}`,
	} {
		f.Add(byte(i), []byte(line))
	}
	f.Fuzz(func(t *testing.T, which byte, in []byte) {
		var b bytes.Buffer
		p := packer{zip: zip.NewWriter(&b), manifest: manifest{Format: Format, Version: Version}}
		var counted Memory
		for i, name := range names {
			text := []byte(nil)
			if i == int(which)%len(names) {
				text = in
				for line := range bytes.Lines(in) {
					if err := counted.take(name, line); err != nil {
						break
					}
				}
			}
			if err := p.add(name, true, bytes.NewReader(text)); err != nil {
				t.Fatal(err)
			}
		}
		p.manifest.Counts = counted.Counts()
		text, err := json.Marshal(p.manifest)
		if err == nil {
			err = p.add(manifestName, false, bytes.NewReader(text))
		}
		if err == nil {
			err = p.zip.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		a, err := inMemory(b.Bytes())
		if err != nil {
			if agent.CodeOf(err) != agent.CodeInvalid {
				t.Fatal(err)
			}
			return
		}
		var first, second bytes.Buffer
		if err := Write(&first, &a.Memory, a.Note); err != nil {
			t.Fatal(err)
		}
		again, err := inMemory(first.Bytes())
		if err != nil {
			t.Fatalf("what was taken is refused when it is written: %v", err)
		}
		if err := Write(&second, &again.Memory, again.Note); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Fatalf("written twice it differs: %v", err)
		}
	})
}

// Whatever a conversation is, what is taken of it can be kept.
func FuzzConversation(f *testing.F) {
	f.Add([]byte(`{"id":"c1","title":"Dogs","create_time":1700000000.5,"current_node":"u1","mapping":{"u1":{"parent":"r","message":{"id":"u1","author":{"role":"user"},"create_time":1e300,"content":{"content_type":"text","parts":["x",{"text":"y"}]}}},"r":{"children":["u1"]}}}`))
	f.Add([]byte(`{"uuid":"k","chat_messages":[{"uuid":"a","sender":"human","text":"x","parent_message_uuid":"a"},{"uuid":"b","sender":"x","parent_message_uuid":"a"},{"uuid":"c","sender":"assistant","content":[{"type":"text","text":"z"}],"parent_message_uuid":"a"}]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		var left Left
		for _, m := range append(readChatGPT(in, 1, &left), readClaude(in, 1, &left)...) {
			if m.Thread == "" || m.ID == "" || strings.TrimSpace(m.Text) == "" || m.Owner == m.Assistant || m.Own || m.Speaker == "" {
				t.Fatalf("%+v", m)
			}
			if _, err := time.Parse(time.RFC3339Nano, m.Time); m.Time != "" && err != nil {
				t.Fatal(err)
			}
		}
	})
}
