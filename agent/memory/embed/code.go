package embed

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// Vector is one as it is kept.
type Vector struct {
	Item  int64  // recall_items.seq
	Code  []byte // sign bits, little-endian, filled to whole words of 8 bytes
	Bytes []byte // int8 per dimension, scaled so that the largest is ±127
}

// codeWords is how many 64-bit words a code of dims bits takes.
func codeWords(dims int) int { return (dims + 63) / 64 }

// bytesOf returns a vector in signed bytes, nil for one of zeros. Only directions are
// compared, so each vector has a scale of its own.
func bytesOf(v []float32) []byte {
	top := 0.0
	for _, x := range v {
		top = max(top, math.Abs(float64(x)))
	}
	if top == 0 {
		return nil
	}
	out := make([]byte, len(v))
	for i, x := range v {
		out[i] = byte(int8(math.Round(float64(x) / top * 127))) //nolint:gosec // within ±127
	}
	return out
}

// codeOf returns the signs of a vector.
func codeOf(v []float32) []byte {
	words := make([]uint64, codeWords(len(v)))
	for i, x := range v {
		if x > 0 {
			words[i/64] |= 1 << (i % 64)
		}
	}
	out := make([]byte, 0, 8*len(words))
	for _, w := range words {
		out = binary.LittleEndian.AppendUint64(out, w)
	}
	return out
}

// hamming counts the bits in which two codes differ.
func hamming(a, b []uint64) int {
	n := 0
	b = b[:len(a)]
	for len(a) >= 4 && len(b) >= 4 { // four at once: the processor counts them side by side
		n += bits.OnesCount64(a[0]^b[0]) + bits.OnesCount64(a[1]^b[1]) + bits.OnesCount64(a[2]^b[2]) + bits.OnesCount64(a[3]^b[3])
		a, b = a[4:], b[4:]
	}
	for i, w := range a {
		n += bits.OnesCount64(w ^ b[i])
	}
	return n
}

// cosine compares a question with a vector in signed bytes; 0 when their lengths differ.
func cosine(query []float32, kept []byte) float64 {
	if len(query) != len(kept) {
		return 0
	}
	var dot, qq, kk float32
	for i, b := range kept {
		x, q := float32(int8(b)), query[i] //nolint:gosec // signed bytes
		dot += x * q
		qq += q * q
		kk += x * x
	}
	if qq == 0 || kk == 0 {
		return 0
	}
	return float64(dot) / math.Sqrt(float64(qq)*float64(kk))
}

// Similarity compares two vectors in signed bytes of the same space: -1 to 1, 0 when either is empty or of another length.
func Similarity(a, b []byte) float64 {
	q := make([]float32, len(a))
	for i, x := range a {
		q[i] = float32(int8(x)) //nolint:gosec // signed bytes
	}
	return cosine(q, b)
}
