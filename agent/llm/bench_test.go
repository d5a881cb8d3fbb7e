package llm_test

import (
	"bufio"
	"bytes"
	"context"
	"iter"
	"strings"
	"testing"

	"ash/agent"
	"ash/agent/llm"
	"ash/agent/llm/llmtest"
	"ash/agent/llm/openai"
)

// events is 10,000 chunks as OpenAI streams them.
func events() []byte {
	one := `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1760000000,"model":"m","choices":[{"index":0,"delta":{"content":"word "},"finish_reason":null}]}` + "\n\n"
	return []byte(strings.Repeat(one, 10_000))
}

// BenchmarkEventReader and BenchmarkScanner read the same stream; the scanner is the baseline, without any idea of events.
func BenchmarkEventReader(b *testing.B) {
	data := events()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		r := llm.NewEventReader(bytes.NewReader(data), 0)
		n := 0
		for {
			if _, _, err := r.Next(); err != nil {
				break
			}
			n++
		}
		if n != 10_000 {
			b.Fatal(n)
		}
	}
}

func BenchmarkScanner(b *testing.B) {
	data := events()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		s := bufio.NewScanner(bytes.NewReader(data))
		n := 0
		for s.Scan() {
			if len(s.Bytes()) > 0 {
				n++
			}
		}
		if n != 10_000 {
			b.Fatal(n)
		}
	}
}

// BenchmarkChain streams 20,000 tokens through the chain and its watch; BenchmarkClient is the baseline, the client alone.
func BenchmarkChain(b *testing.B) {
	p := benchHouse(b)
	m, _, err := p.Pick(b.Context(), "s/m")
	if err != nil {
		b.Fatal(err)
	}
	drain(b, func() iter.Seq2[agent.Delta, error] { return m.Stream(context.Background(), benchPrompt()) })
}

func BenchmarkClient(b *testing.B) {
	c, err := benchHouse(b).Client("s")
	if err != nil {
		b.Fatal(err)
	}
	info := agent.ModelInfo{Ref: agent.ModelRef{Provider: "s", Name: "m"}}
	drain(b, func() iter.Seq2[agent.Delta, error] { return c.Stream(context.Background(), info, benchPrompt()) })
}

func benchPrompt() agent.Prompt {
	return agent.Prompt{Messages: []agent.PromptMessage{{Role: agent.RoleUser, Parts: []agent.Part{agent.Text{Text: "go"}}}}}
}

func benchHouse(b *testing.B) *llm.Providers {
	b.Helper()
	server := llmtest.OpenAI(b, llmtest.Reply{Load: llmtest.Load{Tokens: 20_000}, Repeat: true})
	p, err := llm.New(llm.Options{Dialects: map[string]llm.Dialect{"openai": openai.New}, Keys: llm.NewKeys(noEnv), Logger: quiet,
		Providers: []llm.Settings{{Name: "s", Kind: "vllm", BaseURL: server.URL + "/v1"}}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(p.Close)
	return p
}

func drain(b *testing.B, stream func() iter.Seq2[agent.Delta, error]) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for d, err := range stream() {
			if err != nil {
				b.Fatal(err)
			}
			if d.Kind == agent.DeltaText {
				n++
			}
		}
		if n != 20_000 {
			b.Fatal(n)
		}
	}
	b.ReportMetric(20_000*float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
}
