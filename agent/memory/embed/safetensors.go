package embed

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"ash/agent"
)

// The safetensors format (https://github.com/huggingface/safetensors): 8 bytes little-endian with the length of a JSON header,
// the header, and the tensors' raw numbers one after the other.

// maxHeader bounds the header, in bytes; a static model's has three entries.
const maxHeader = 1 << 20

// tensor is one in a file. It is read row by row; nothing of it is kept.
type tensor struct {
	kind  string
	shape []int64
	start int64 // in the file
	file  *os.File
}

// tensorEntry is one as the header names it.
type tensorEntry struct {
	Kind    string  `json:"dtype"`
	Shape   []int64 `json:"shape"`
	Offsets []int64 `json:"data_offsets"`
}

// width is how many bytes a number of a kind takes, 0 for kinds that are not read.
func width(kind string) int64 {
	switch kind {
	case "F64", "I64":
		return 8
	case "F32", "I32":
		return 4
	case "F16", "BF16":
		return 2
	case "I8":
		return 1
	}
	return 0
}

// readHeader reads the header of a safetensors file of size bytes and checks that each tensor
// lies within it and has as many bytes as its shape says. Tensors of kinds that are not read are left out.
func readHeader(r io.ReaderAt, size int64) (map[string]tensor, error) {
	var length [8]byte
	if _, err := r.ReadAt(length[:], 0); err != nil {
		return nil, damagedModel(err)
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > maxHeader || int64(n) > size-8 { //nolint:gosec // bounded by the first half
		return nil, damagedModel(fmt.Errorf("a header of %d bytes in a file of %d", n, size))
	}
	text := make([]byte, n)
	if _, err := r.ReadAt(text, 8); err != nil {
		return nil, damagedModel(err)
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, damagedModel(err)
	}
	out := make(map[string]tensor, len(raw))
	begin := 8 + int64(n) //nolint:gosec // at most maxHeader
	for name, entry := range raw {
		if name == "__metadata__" {
			continue
		}
		var e tensorEntry
		if err := json.Unmarshal(entry, &e); err != nil {
			return nil, damagedModel(fmt.Errorf("tensor %.40q: %w", name, err))
		}
		if width(e.Kind) == 0 {
			continue
		}
		if err := e.check(size - begin); err != nil {
			return nil, damagedModel(fmt.Errorf("tensor %.40q: %w", name, err))
		}
		out[name] = tensor{kind: e.Kind, shape: e.Shape, start: begin + e.Offsets[0]}
	}
	return out, nil
}

// check compares an entry with the room there is.
func (e tensorEntry) check(room int64) error {
	if len(e.Offsets) != 2 || e.Offsets[0] < 0 || e.Offsets[1] < e.Offsets[0] || e.Offsets[1] > room {
		return fmt.Errorf("offsets %v in %d bytes", e.Offsets, room)
	}
	bytes := width(e.Kind)
	for _, n := range e.Shape {
		if n < 0 || n > math.MaxInt32 || (n > 0 && bytes > math.MaxInt64/n) {
			return fmt.Errorf("shape %v", e.Shape)
		}
		bytes *= n
	}
	if bytes != e.Offsets[1]-e.Offsets[0] {
		return fmt.Errorf("%d bytes for the shape %v of %s", e.Offsets[1]-e.Offsets[0], e.Shape, e.Kind)
	}
	return nil
}

// rows and columns of a matrix; a vector is a matrix of one column.
func (t tensor) rows() int64 {
	if len(t.shape) == 0 {
		return 0
	}
	return t.shape[0]
}

func (t tensor) columns() int {
	if len(t.shape) < 2 {
		return 1
	}
	return int(t.shape[1])
}

// row reads one row into to, using buffer, which must be as long as a row's bytes.
func (t tensor) row(i int64, buffer []byte, to []float32) error {
	n := width(t.kind) * int64(len(to))
	if _, err := t.file.ReadAt(buffer[:n], t.start+i*n); err != nil {
		return damagedModel(err)
	}
	decode(t.kind, buffer, to)
	return nil
}

// decode makes numbers of raw bytes.
func decode(kind string, from []byte, to []float32) {
	for i := range to {
		switch kind {
		case "F32":
			to[i] = math.Float32frombits(binary.LittleEndian.Uint32(from[4*i:]))
		case "F16":
			to[i] = half(binary.LittleEndian.Uint16(from[2*i:]))
		case "BF16":
			to[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(from[2*i:])) << 16)
		case "F64":
			to[i] = float32(math.Float64frombits(binary.LittleEndian.Uint64(from[8*i:])))
		case "I64":
			to[i] = float32(int64(binary.LittleEndian.Uint64(from[8*i:]))) //nolint:gosec // the sign is wanted
		case "I32":
			to[i] = float32(int32(binary.LittleEndian.Uint32(from[4*i:]))) //nolint:gosec // the sign is wanted
		case "I8":
			to[i] = float32(int8(from[i])) //nolint:gosec // the sign is wanted
		}
	}
}

// half makes a number of one of 16 bits (IEEE 754 binary16).
func half(h uint16) float32 {
	sign := uint32(h>>15) << 31
	exponent, fraction := uint32(h>>10)&0x1f, uint32(h)&0x3ff
	switch exponent {
	case 0: // too small for a leading one
		f := float32(fraction) * (1.0 / (1 << 24))
		return math.Float32frombits(math.Float32bits(f) | sign)
	case 0x1f:
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}

// damagedModel is the error of a model file that cannot be read.
func damagedModel(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return agent.Wrap(agent.CodeInvalid, err, "The embedding model is cut off: a file of it is shorter than it says. Copy it again.")
	}
	return agent.Wrap(agent.CodeInvalid, err, "The embedding model's file cannot be read: it is damaged, or not in the safetensors format.")
}
