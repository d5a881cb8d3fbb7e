package embed

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ash/agent"
)

// bertTokens and unigramTokens are small vocabularies of the two kinds.
var (
	bertTokens    = []string{"[PAD]", "[UNK]", "the", "garden", "rose", "##s", "bloom", "car", "engine", "katze", "猫", "!", "uber"}
	unigramTokens = []string{"<unk>", "▁", "▁garden", "▁rose", "s", "▁car", "gar", "den", "▁red▁rose", "猫"}
)

func bertTokenizer(t testing.TB) []byte {
	t.Helper()
	vocab := map[string]int{}
	for i, w := range bertTokens {
		vocab[w] = i
	}
	return mustJSON(t, map[string]any{
		"normalizer":    map[string]any{"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": nil, "lowercase": true},
		"pre_tokenizer": map[string]any{"type": "BertPreTokenizer"},
		"model":         map[string]any{"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": vocab},
	})
}

func unigramTokenizer(t testing.TB, split bool) []byte {
	t.Helper()
	var vocab [][]any
	for i, w := range unigramTokens {
		vocab = append(vocab, []any{w, -float64(i+1) / 2})
	}
	return mustJSON(t, map[string]any{
		"normalizer":    map[string]any{"type": "Sequence", "normalizers": []any{map[string]any{"type": "Precompiled"}, map[string]any{"type": "Lowercase"}}},
		"pre_tokenizer": map[string]any{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": split},
		"model":         map[string]any{"type": "Unigram", "unk_id": 0, "vocab": vocab},
	})
}

func mustJSON(t testing.TB, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// part is a tensor of a file that a test makes.
type part struct {
	name, kind string
	shape      []int64
	raw        []byte
}

func safetensors(t testing.TB, parts ...part) []byte {
	t.Helper()
	header, body := map[string]any{"__metadata__": map[string]string{"format": "pt"}}, []byte(nil)
	for _, p := range parts {
		header[p.name] = map[string]any{"dtype": p.kind, "shape": p.shape, "data_offsets": []int{len(body), len(body) + len(p.raw)}}
		body = append(body, p.raw...)
	}
	text := mustJSON(t, header)
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	return append(append(out, text...), body...)
}

// floats writes numbers in a kind.
func floats(kind string, values ...float32) []byte {
	var out []byte
	for _, v := range values {
		bits := math.Float32bits(v)
		switch kind {
		case "F32":
			out = binary.LittleEndian.AppendUint32(out, bits)
		case "BF16":
			out = binary.LittleEndian.AppendUint16(out, uint16(bits>>16))
		case "F16": // values of tests are within its range
			h := uint16(bits>>16) & 0x8000
			if v != 0 {
				h |= uint16(int(bits>>23&0xff)-127+15)<<10 | uint16(bits>>13)&0x3ff
			}
			out = binary.LittleEndian.AppendUint16(out, h)
		case "F64":
			out = binary.LittleEndian.AppendUint64(out, math.Float64bits(float64(v)))
		case "I64":
			out = binary.LittleEndian.AppendUint64(out, uint64(int64(v)))
		case "I8":
			out = append(out, byte(int8(v)))
		}
	}
	return out
}

// model writes a model to a folder.
func model(t testing.TB, tokenizer, tensors []byte, config string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string][]byte{"tokenizer.json": tokenizer, "model.safetensors": tensors, "config.json": []byte(config)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// simple is a matrix whose row i is (i, 1, -i/2, 2).
func simple(kind string, rows int) part {
	var values []float32
	for i := range rows {
		values = append(values, float32(i), 1, -float32(i)/2, 2)
	}
	return part{"embeddings", kind, []int64{int64(rows), 4}, floats(kind, values...)}
}

func opened(t testing.TB, dir string) *Static {
	t.Helper()
	s, err := OpenStatic(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestTokenizer(t *testing.T) {
	bert, err := parseTokenizer(bertTokenizer(t))
	if err != nil {
		t.Fatal(err)
	}
	unigram, err := parseTokenizer(unigramTokenizer(t, true))
	if err != nil {
		t.Fatal(err)
	}
	whole, err := parseTokenizer(unigramTokenizer(t, false))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		of    *tokenizer
		words []string
		text  string
		want  []string
	}{
		{"words", bert, bertTokens, "The  GARDEN\nroses!", []string{"the", "garden", "rose", "##s", "!"}},
		{"unknown words are left out", bert, bertTokens, "garden xyz rosex", []string{"garden"}},
		{"the unknown token in a text", bert, bertTokens, "[UNK] rose", []string{"rose"}},
		{"accents", bert, bertTokens, "Über", []string{"uber"}},
		{"Chinese stands apart", bert, bertTokens, "猫猫rose", []string{"猫", "猫", "rose"}},
		{"control characters and broken text", bert, bertTokens, "gar\x00den\u200b \xff rose", []string{"garden", "rose"}},
		{"nothing", bert, bertTokens, "", nil},
		{"unigram", unigram, unigramTokens, "Garden roses", []string{"▁garden", "▁rose", "s"}},
		{"unigram: not across words", unigram, unigramTokens, "red rose", []string{"▁", "▁rose"}},
		{"unigram: across words", whole, unigramTokens, "red rose", []string{"▁red▁rose"}},
		{"unigram: unknown characters", unigram, unigramTokens, "猫zz s", []string{"▁", "猫", "▁", "s"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, id := range c.of.encode(c.text, 100) {
				got = append(got, c.words[id])
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	if got := bert.encode(strings.Repeat("rose ", 2000), maxTextTokens); len(got) != maxTextTokens {
		t.Errorf("%d tokens of a long text", len(got))
	}
}

// Every kind of number gives the same mean, with weights and rows shared by tokens.
func TestStatic(t *testing.T) {
	n := len(bertTokens)
	for _, kind := range []string{"F32", "F16", "BF16"} {
		s := opened(t, model(t, bertTokenizer(t), safetensors(t, simple(kind, n)), `{"normalize": false}`))
		got, err := s.Query(t.Context(), "garden rose") // rows 3 and 4
		if err != nil || !slices.Equal(got, []float32{3.5, 1, -1.75, 2}) {
			t.Errorf("%s: %v %v", kind, got, err)
		}
		if got, err = s.Query(t.Context(), "xyzzy"); err != nil || !zero(got) {
			t.Errorf("%s: unknown words mean %v %v", kind, got, err)
		}
	}
	weights := make([]float32, n)
	rows := make([]float32, n)
	for i := range n {
		weights[i], rows[i] = 1, float32(i%3)
	}
	weights[3] = 3
	s := opened(t, model(t, bertTokenizer(t), safetensors(t, simple("F32", 3),
		part{"weights", "F64", []int64{int64(n)}, floats("F64", weights...)}, part{"mapping", "I64", []int64{int64(n)}, floats("I64", rows...)}), `{"normalize": true}`))
	got, err := s.Query(t.Context(), "garden rose") // rows 0 (three times) and 1: (1, 4, -0.5, 8) / 2
	length := float32(math.Sqrt(1 + 16 + .25 + 64))
	for i, want := range []float32{1 / length, 4 / length, -.5 / length, 8 / length} {
		if err != nil || math.Abs(float64(got[i]-want)) > 1e-6 {
			t.Fatalf("%v %v", got, err)
		}
	}
	one, _ := s.Space(t.Context())
	other, _ := opened(t, model(t, bertTokenizer(t), safetensors(t, simple("F32", n)), `{"normalize": true}`)).Space(t.Context())
	if one.Dimensions != 4 || strings.Split(one.Name, "-")[1] == strings.Split(other.Name, "-")[1] {
		t.Errorf("spaces %v and %v", one, other)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Query(t.Context(), "rose"); agent.CodeOf(err) != agent.CodeUnavailable {
		t.Errorf("after Close: %v", err)
	}
}

func TestStaticBad(t *testing.T) {
	n := len(bertTokens)
	good := safetensors(t, simple("F32", n))
	nan := simple("F32", n)
	for i := range n {
		copy(nan.raw[16*i:], floats("F32", float32(math.NaN())))
	}
	for name, c := range map[string]struct {
		tokenizer, tensors []byte
		config             string
	}{
		"not JSON":           {[]byte("hello"), good, "{}"},
		"BPE":                {[]byte(`{"model":{"type":"BPE","vocab":{}}}`), good, "{}"},
		"unknown normalizer": {bytes.Replace(bertTokenizer(t), []byte("BertNormalizer"), []byte("Strange"), 1), good, "{}"},
		"empty vocabulary":   {[]byte(`{"model":{"type":"WordPiece","vocab":{}}}`), good, "{}"},
		"cut":                {bertTokenizer(t), good[:len(good)-3], "{}"},
		"cut header":         {bertTokenizer(t), good[:30], "{}"},
		"empty":              {bertTokenizer(t), nil, "{}"},
		"huge header":        {bertTokenizer(t), bytes.Repeat([]byte{0xff}, 100), "{}"},
		"too few rows":       {bertTokenizer(t), safetensors(t, simple("F32", n-1)), "{}"},
		"no embeddings":      {bertTokenizer(t), safetensors(t, part{"x", "F32", []int64{1, 1}, floats("F32", 1)}), "{}"},
		"mapped outside":     {bertTokenizer(t), safetensors(t, simple("F32", 3), part{"mapping", "I64", []int64{int64(n)}, floats("I64", slices.Repeat([]float32{9}, n)...)}), "{}"},
		"config":             {bertTokenizer(t), good, "{"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := OpenStatic(model(t, c.tokenizer, c.tensors, c.config))
			if agent.CodeOf(err) != agent.CodeInvalid || agent.PublicOf(err) == "" {
				t.Errorf("%v %v", s, err)
			}
		})
	}
	s := opened(t, model(t, bertTokenizer(t), safetensors(t, nan), "{}"))
	if v, err := s.Query(t.Context(), "rose"); agent.CodeOf(err) != agent.CodeInvalid {
		t.Errorf("NaN: %v %v", v, err)
	}
	if _, err := OpenStatic(t.TempDir()); agent.CodeOf(err) != agent.CodeNotFound {
		t.Errorf("empty folder: %v", err)
	}
}

func FuzzSafetensors(f *testing.F) {
	f.Add(safetensors(f, simple("F32", 2)))
	f.Add(safetensors(f, simple("F16", 1), part{"weights", "F64", []int64{1}, floats("F64", 1)}))
	f.Add([]byte("\x20\x00\x00\x00\x00\x00\x00\x00{\"embeddings\":{\"shape\":[9223372036854775807,2]}}"))
	f.Fuzz(func(t *testing.T, file []byte) {
		tensors, err := readHeader(bytes.NewReader(file), int64(len(file)))
		if err != nil && agent.CodeOf(err) != agent.CodeInvalid {
			t.Fatal(err)
		}
		for name, x := range tensors {
			n := width(x.kind)
			for _, k := range x.shape {
				n *= k
			}
			if x.start < 8 || x.start+n > int64(len(file)) {
				t.Fatalf("%q lies outside: %+v", name, x)
			}
		}
	})
}

func FuzzTokenizer(f *testing.F) {
	f.Add(bertTokenizer(f), "The garden, roses! 猫")
	f.Add(unigramTokenizer(f, true), "red rose 猫 \xff")
	f.Add(unigramTokenizer(f, false), strings.Repeat("red rose", 20))
	f.Add([]byte(`{"normalizer":{"type":"Replace","pattern":{"Regex":"\\s+"},"content":" "},"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Digits","individual_digits":true},{"type":"Whitespace"}]},"model":{"type":"WordPiece","vocab":{"a":0}}}`), "a 12 b")
	f.Fuzz(func(t *testing.T, file []byte, text string) {
		k, err := parseTokenizer(file)
		if err != nil {
			if agent.CodeOf(err) != agent.CodeInvalid {
				t.Fatal(err)
			}
			return
		}
		for _, id := range k.encode(agent.Clip(text, maxText), maxTextTokens) {
			if id < 0 || int(id) >= k.tokens || id == k.unknown {
				t.Fatalf("token %d of %d", id, k.tokens)
			}
		}
	})
}
