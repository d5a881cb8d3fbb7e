package openai_test

import (
	"context"
	"errors"
	"io"
	"testing"

	api "github.com/sashabaranov/go-openai"

	"ash/agent"
	"ash/agent/llm/llmtest"
)

const benchTokens = 20_000

func benchServer(b *testing.B) string {
	b.Helper()
	return llmtest.OpenAI(b, llmtest.Reply{Load: llmtest.Load{Tokens: benchTokens}, Repeat: true}).URL + "/v1"
}

// BenchmarkStream reads a reply of 20,000 tokens from a server at full speed in the same process.
func BenchmarkStream(b *testing.B) {
	c := connect(b, benchServer(b), "openai")
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for d, err := range c.Stream(context.Background(), model, hello()) {
			if err != nil {
				b.Fatal(err)
			}
			if d.Kind == agent.DeltaText {
				n++
			}
		}
		if n < benchTokens {
			b.Fatalf("%d tokens", n)
		}
	}
	b.ReportMetric(benchTokens*float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
}

// BenchmarkStreamGoOpenAI is the baseline: the same reply through go-openai's own reader.
func BenchmarkStreamGoOpenAI(b *testing.B) {
	config := api.DefaultConfig("sk-test")
	config.BaseURL = benchServer(b)
	c := api.NewClientWithConfig(config)
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		stream, err := c.CreateChatCompletionStream(context.Background(), api.ChatCompletionRequest{Model: "m", Messages: []api.ChatCompletionMessage{{Role: "user", Content: "hello"}}})
		if err != nil {
			b.Fatal(err)
		}
		for {
			_, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		_ = stream.Close()
		if n < benchTokens {
			b.Fatalf("%d tokens", n)
		}
	}
	b.ReportMetric(benchTokens*float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
}
