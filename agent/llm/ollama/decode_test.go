package ollama

import (
	"bytes"
	"testing"

	"ash/agent"
	"ash/agent/llm"
	"ash/agent/llm/llmtest"
)

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"message":{"content":"a"}}` + "\n" + `{"done":true,"done_reason":"stop","eval_count":-1}`))
	f.Add([]byte(`{"message":{"thinking":"a","tool_calls":[{"function":{"name":"x","arguments":null}}]}}` + "\r\n\r\n" + `{"error":{"a":1}}`))
	f.Add([]byte(`{"message":{"content":"<tool_call>{\"name\":\"x\"}"}}` + "\n" + `{"done":true}` + "\n"))
	f.Add([]byte("null\n[]\n{"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		calls, stopped, thinking := 0, false, false
		d := decoder{yield: func(delta agent.Delta, _ error) bool {
			if stopped {
				t.Fatal("a delta after the stop")
			}
			switch delta.Kind {
			case agent.DeltaThinking:
				thinking = true
			case agent.DeltaThought:
				thinking = false
			case agent.DeltaCall:
				if calls++; delta.Call.Index != calls-1 {
					t.Fatalf("call %d is number %d", delta.Call.Index, calls)
				}
			case agent.DeltaUsage:
				if delta.Usage.Input < 0 || delta.Usage.Output < 0 {
					t.Fatalf("usage %+v", *delta.Usage)
				}
			case agent.DeltaStop:
				stopped = true
			}
			if thinking && delta.Kind != agent.DeltaThinking {
				t.Fatalf("delta %d inside a thought", delta.Kind)
			}
			return true
		}}
		err := d.decode(bytes.NewReader(stream))
		if err != nil && llm.FaultOf(err) == nil {
			t.Fatalf("error %v is no fault", err)
		}
		if (err == nil) != stopped {
			t.Fatalf("error %v, stopped %v", err, stopped)
		}
	})
}

func BenchmarkStream(b *testing.B) {
	const tokens = 50_000
	s := llmtest.Ollama(b, llmtest.Reply{Load: llmtest.Load{Tokens: tokens}, Repeat: true})
	c := connect(b, s.URL)
	b.Run("baseline=read the bytes", func(b *testing.B) {
		for b.Loop() {
			body, err := c.ask(b.Context(), model("x"), hello())
			if err != nil {
				b.Fatal(err)
			}
			if n, err := bytes.NewBuffer(nil).ReadFrom(body); err != nil || n == 0 {
				b.Fatal(n, err)
			}
			_ = body.Close()
		}
		b.ReportMetric(float64(tokens*b.N)/b.Elapsed().Seconds(), "tokens/s")
	})
	b.Run("client", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			n := 0
			for d, err := range c.Stream(b.Context(), model("x"), hello()) {
				if err != nil {
					b.Fatal(err)
				}
				if d.Kind == agent.DeltaText {
					n++
				}
			}
			if n < tokens-1 {
				b.Fatalf("%d tokens", n)
			}
		}
		b.ReportMetric(float64(tokens*b.N)/b.Elapsed().Seconds(), "tokens/s")
	})
}
