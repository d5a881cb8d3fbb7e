package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"ash/agent"
	"ash/agent/llm"
	"ash/agent/llm/llmtest"
)

func FuzzDecode(f *testing.F) {
	f.Add([]byte("event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":1}}}\n\n"))
	f.Add([]byte("data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"input\":{\"a\":1}}}\n\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"x\"}}\n\n"))
	f.Add([]byte("data: {\"type\":\"content_block_delta\",\"index\":9}\n\n"))
	f.Add([]byte("data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":-5}}\n\ndata: {\"type\":\"message_stop\"}\n\n"))
	f.Add([]byte("data: {\"type\":\"content_block_start\",\"index\":-1,\"content_block\":null}\n\n: comment\ndata: {\"type\":\"error\"}\n\n"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		open := map[int]bool{}
		d := decoder{yield: func(delta agent.Delta, err error) bool {
			if err != nil {
				t.Fatal("the decoder yields no errors itself")
			}
			switch delta.Kind {
			case agent.DeltaCall:
				if !open[delta.Call.Index] && delta.Call.Index != len(open) {
					t.Fatalf("call %d after %d others", delta.Call.Index, len(open))
				}
				open[delta.Call.Index] = true
			case agent.DeltaUsage:
				if delta.Usage.Input < 0 || delta.Usage.Output < 0 {
					t.Fatalf("usage %+v", *delta.Usage)
				}
			}
			return true
		}}
		err := d.decode(bytes.NewReader(stream))
		if err != nil && llm.FaultOf(err) == nil {
			t.Fatalf("error %v is no fault", err)
		}
		if err == nil && d.stop == "" {
			t.Fatal("a whole reply without a stop reason")
		}
	})
}

func BenchmarkStream(b *testing.B) {
	const tokens = 50_000
	s := llmtest.Anthropic(b, llmtest.Reply{Load: llmtest.Load{Tokens: tokens}, Repeat: true})
	c := connect(b, s.URL)
	b.Run("baseline=read the bytes", func(b *testing.B) {
		for b.Loop() {
			resp, err := c.ask(b.Context(), model("claude-sonnet-5"), hello())
			if err != nil {
				b.Fatal(err)
			}
			n, err := bytes.NewBuffer(nil).ReadFrom(resp.Body)
			if err != nil || n == 0 {
				b.Fatal(n, err)
			}
			_ = resp.Body.Close()
		}
		b.ReportMetric(float64(tokens*b.N)/b.Elapsed().Seconds(), "tokens/s")
	})
	b.Run("client", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			n := 0
			for d, err := range c.Stream(b.Context(), model("claude-sonnet-5"), hello()) {
				if err != nil {
					b.Fatal(err)
				}
				if d.Kind == agent.DeltaText {
					n++
				}
			}
			if n != tokens {
				b.Fatalf("%d tokens", n)
			}
		}
		b.ReportMetric(float64(tokens*b.N)/b.Elapsed().Seconds(), "tokens/s")
	})
}

func TestBreakOffIsNoFault(t *testing.T) {
	d := decoder{yield: func(agent.Delta, error) bool { return false }}
	err := d.decode(strings.NewReader("data: {\"type\":\"message_start\",\"message\":{}}\n\n"))
	if !errors.Is(err, errStopped) {
		t.Errorf("got %v", err)
	}
}

// FuzzPlainDelta holds the short way against the long one.
func FuzzPlainDelta(f *testing.F) {
	f.Add([]byte(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Grüße"}}`))
	f.Add([]byte(`{"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":" a "} }   `))
	f.Add([]byte(`{"type":"content_block_delta","index":12,"delta":{"type":"text_delta","text":"a\n"}}`))
	f.Add([]byte(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"},"text":"b"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		index, text, ok := plainDelta(data)
		if !ok {
			return
		}
		var e streamEvent
		if err := json.Unmarshal(data, &e); err != nil {
			t.Fatalf("%q is not even JSON: %v", data, err)
		}
		if e.Type != "content_block_delta" || e.Index != index || e.Delta.Type != "text_delta" || e.Delta.Text != text {
			t.Fatalf("%q: %d %q, want %+v", data, index, text, e)
		}
	})
}

func TestPlainDelta(t *testing.T) {
	for data, want := range map[string]bool{
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Grüße, 世界"}}`:            true,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":""}       }`:              true,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\n"}}`:                  false,
		`{"type":"content_block_delta","index":10,"delta":{"type":"text_delta","text":"a"}}`:                   false,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"a"}}`:            false,
		"{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"\xff\"}}": false,
	} {
		if _, _, ok := plainDelta([]byte(data)); ok != want {
			t.Errorf("%q: %v, want %v", data, ok, want)
		}
	}
}
