package embed

import (
	"context"
	"fmt"
	"math"

	"ash/agent"
)

// MaxDimensions bounds the length of a vector.
const MaxDimensions = 8192

// maxText bounds how much of one text is embedded, in bytes: some 2,000 words.
const maxText = 8 << 10

// Space is where vectors can be compared: an embedder and the length of its vectors.
type Space struct {
	Name       string // "static/<model>-<hash>", "<provider>/<model>"; at most 200 bytes
	Dimensions int
}

// String returns the name under which the vectors of a space are kept.
func (s Space) String() string {
	if s == (Space{}) {
		return ""
	}
	return fmt.Sprintf("%s:%d", s.Name, s.Dimensions)
}

// Embedder makes vectors. Static and Remote are the two there are. A vector of zeros says
// that a text has no meaning the model knows.
type Embedder interface {
	// Space says where the vectors belong; it may ask a server. CodeUnavailable when it does not answer.
	Space(ctx context.Context) (Space, error)
	// Query returns the vector of a question, soon or not at all.
	Query(ctx context.Context, text string) ([]float32, error)
	// Documents returns the vectors of texts, in order.
	Documents(ctx context.Context, texts []string) ([][]float32, error)
}

// check refuses vectors that are not one finite vector of dims numbers for each of n texts.
func check(vectors [][]float32, n, dims int, who string) error {
	if len(vectors) != n {
		return agent.Errorf(agent.CodeUnavailable, "%s returned %d vectors for %d texts. Search by meaning rests; search by words goes on.", who, len(vectors), n)
	}
	for _, v := range vectors {
		if len(v) != dims {
			return &agent.Error{
				Code:   agent.CodeConflict,
				Public: fmt.Sprintf("%s now returns vectors of %d numbers instead of %d: it is another model. The index by meaning is being made anew.", who, len(v), dims),
				Err:    errDimensions,
			}
		}
		for _, x := range v {
			if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
				return agent.Errorf(agent.CodeUnavailable, "%s returned a vector that holds no numbers (NaN or infinity). Search by meaning rests; search by words goes on.", who)
			}
		}
	}
	return nil
}
