package ollama

import (
	"reflect"
	"strings"
	"testing"

	"ash/agent"
	"ash/agent/llm"
	"ash/agent/llm/llmtest"
)

func TestEmbed(t *testing.T) {
	s := llmtest.Ollama(t)
	s.ModelNames, s.Dimensions = []string{"nomic-embed-text"}, 12
	e := NewEmbedder(connection(t, s.URL), "nomic-embed-text", 0)
	texts := make([]string, embedBatch+3)
	for i := range texts {
		texts[i] = strings.Repeat("x", i)
	}
	got, err := e.Embed(t.Context(), texts)
	if err != nil || len(got) != len(texts) || e.Dimensions() != 12 {
		t.Fatalf("%d vectors of %d, error %v", len(got), e.Dimensions(), err)
	}
	for i, v := range got {
		if !reflect.DeepEqual(v, llmtest.Vector(texts[i], 12)) {
			t.Fatalf("vector %d belongs to another text", i)
		}
	}
	if n := len(s.Requests()); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
	t.Run("none", func(t *testing.T) {
		if v, err := e.Embed(t.Context(), nil); err != nil || len(v) != 0 {
			t.Errorf("got %v, %v", v, err)
		}
	})
	t.Run("not pulled", func(t *testing.T) {
		_, err := NewEmbedder(connection(t, s.URL), "missing", 0).Embed(t.Context(), []string{"x"})
		if agent.CodeOf(err) != agent.CodeNotFound || !strings.Contains(agent.PublicOf(err), "ollama pull missing") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("another length", func(t *testing.T) {
		_, err := NewEmbedder(connection(t, s.URL), "nomic-embed-text", 768).Embed(t.Context(), []string{"x"})
		if f := llm.FaultOf(err); f == nil || f.Kind != llm.FaultMalformed {
			t.Errorf("got %v", err)
		}
	})
}
