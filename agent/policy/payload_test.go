package policy

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
	"time"

	"ash/agent"
)

// FuzzPayload holds that no payload makes reading it fail, take long or point outside itself.
func FuzzPayload(f *testing.F) {
	for _, s := range []string{
		"https://evil.example/?q=Anna%20Kowalska", "https://a.b.c.evil.example/x/y?z=1#f", "%25%32%35", strings.Repeat("%25", 300), "H4sIAAAAAAAA", "x\xff\xfe%ff",
		base64.StdEncoding.EncodeToString([]byte(strings.Repeat("a", 400))), strings.Repeat("a", 3000), strings.Repeat("ab ", 1000), "&#97;\\u0061\\x61", "xn--kln-sna.evil.example", "72,101,108,108,111",
	} {
		f.Add(s, "Anna Kowalska lives in Köln, code 448871. aaaaaaaaaaaaaaaaaaaaaa")
	}
	f.Fuzz(func(t *testing.T, payload, private string) {
		if len(payload) > maxPayload {
			return
		}
		start := time.Now()
		r := read(payload, rawLayer("before"))
		x := newIndex(r.all)
		var spans []span
		for _, h := range x.find(foldText(private), enoughCore) {
			if s := x.span(h); s.from >= 0 {
				spans = append(spans, s)
			}
		}
		for _, p := range passages(payload, spans) {
			if p == "" || !strings.Contains(payload, p) {
				t.Errorf("passage %q of %q", p, payload)
			}
		}
		unreadable(payload)
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("took %s", took)
		}
	})
}

// FuzzDressed holds that a secret is found under any chain of encodings, wherever it stands.
func FuzzDressed(f *testing.F) {
	f.Add([]byte{0, 1, 2}, "abc", "xyz")
	f.Add([]byte{4, 3}, "q", "")
	f.Fuzz(func(t *testing.T, chain []byte, before, after string) {
		if len(chain) > 3 || len(before) > 20 || len(after) > 20 {
			return
		}
		const secret = "the code of the alarm is 448871 for Anna Kowalska"
		text := secret
		for _, c := range chain {
			switch c % 6 {
			case 0:
				text = url.QueryEscape(text)
			case 1:
				text = base64.RawURLEncoding.EncodeToString([]byte(text))
			case 2:
				text = hex.EncodeToString([]byte(text))
			case 3:
				text = strings.ToUpper(hex.EncodeToString([]byte(text)))
			case 4:
				r := []rune(text)
				for i, j := 0, len(r)-1; i < j; i, j = i+1, j-1 {
					r[i], r[j] = r[j], r[i]
				}
				text = string(r)
			case 5:
				text = base64.StdEncoding.EncodeToString([]byte(text))
			}
		}
		payload := "https://evil.example/" + url.PathEscape(before) + "?q=" + url.QueryEscape(text) + "&r=" + url.QueryEscape(after)
		r := read(payload, layer{})
		if hits := newIndex(r.all).find(foldText("Note: "+secret+"."), enoughCore); len(hits) == 0 && !r.partial {
			t.Errorf("%v: not found in %s", chain, payload)
		}
	})
}

func TestReadsLikeWord(t *testing.T) {
	for _, w := range strings.Fields("information transport Kartoffelsalat gouvernement przepraszam kubernetes postgresql javascript Geschwindigkeit universidad schrijven utveckling restaurants asyncio wikipedia") {
		if !readsLikeWord(w) {
			t.Errorf("%s does not read like a word", w)
		}
	}
	rng, misses := rand.New(rand.NewPCG(1, 2)), 0
	for range 1000 {
		b := make([]byte, 16)
		for i := range b {
			b[i] = byte('a' + rng.IntN(26))
		}
		if readsLikeWord(string(b)) {
			misses++
		}
	}
	if misses > 40 {
		t.Errorf("%d of 1000 random runs read like words", misses)
	}
}

// TestRandomTokensAreUnreadable measures what share of random keys is seen, and of ordinary words is not.
func TestRandomTokensAreUnreadable(t *testing.T) {
	for name, alphabet := range map[string]string{
		"base64": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
		"base32": "abcdefghijklmnopqrstuvwxyz234567", "hex": "0123456789abcdef", "letters": "abcdefghijklmnopqrstuvwxyz", "digits": "0123456789",
	} {
		rng, misses := rand.New(rand.NewPCG(3, 4)), 0
		for range 1000 {
			b := make([]byte, 24)
			for i := range b {
				b[i] = alphabet[rng.IntN(len(alphabet))]
			}
			if !unreadable("https://example.org/a?q=" + string(b)) {
				misses++
			}
		}
		if misses > 20 {
			t.Errorf("%s: %d of 1000 keys of 24 characters go unseen", name, misses)
		}
	}
}

// BenchmarkLeaks is what a composed URL costs over a conversation of 500 messages with 2 MB of private text.
func BenchmarkLeaks(b *testing.B) {
	p := New(Options{Root: func(agent.Thread) string { return "/" }})
	rng := rand.New(rand.NewPCG(5, 6))
	zipf, words := rand.NewZipf(rng, 1.1, 3, 9999), make([]string, 10_000)
	for i := range words {
		for range 1 + rng.IntN(4) {
			words[i] += string("bcdfghklmnprstvw"[rng.IntN(16)]) + string("aeiou"[rng.IntN(5)])
		}
	}
	copy(words[50:], strings.Fields("how to sell a used factory machine example search page"))
	var s agent.Situation
	for i := range 500 {
		var t strings.Builder
		for t.Len() < 4200 {
			t.WriteString(words[zipf.Uint64()])
			t.WriteByte(' ')
		}
		s.Path = append(s.Path, agent.Message{Role: agent.RoleAssistant, Calls: []agent.ToolCall{{
			ID: agent.ID(fmt.Sprint(i)), Name: "file_read", State: agent.CallFinished, Effect: &agent.Effect{Kind: agent.EffectRead},
			Result: []agent.Part{agent.Text{Text: t.String()}}, Labels: agent.Labels{{Source: "file:a", Kind: agent.LabelPrivate, Private: true}},
		}}})
	}
	s.Path = append(s.Path, agent.Message{Role: agent.RoleAssistant, Thread: "t"})
	a := asked{effect: agent.Effect{Kind: agent.EffectFetch, Text: "https://www.example.org/search?q=how+to+sell+a+used+factory+machine&lang=en&page=2"}, host: "www.example.org"}
	if _, err := p.leaks(b.Context(), s, a); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		untrusted(s)
		given(s, a.effect.Text)
		if _, err := p.leaks(b.Context(), s, a); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFold2MB(b *testing.B) {
	text := strings.Repeat("The board of our company will sell the factory in Gdańsk to Meridian Holdings. ", 2<<20/80)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		foldText(text)
	}
}

// BenchmarkLongMail is the longest payload that is looked at: prose, and the worst of encodings.
func BenchmarkLongMail(b *testing.B) {
	prose := strings.Repeat("Dear Eve, thank you for the invitation to the garden party on Saturday. ", 220)
	for name, text := range map[string]string{
		"prose": prose, "base64": base64.StdEncoding.EncodeToString([]byte(prose[:12_000])), "percent": strings.Repeat("%25", 5400), "same": strings.Repeat("a", maxPayload),
	} {
		b.Run(name, func(b *testing.B) {
			f := foldText(strings.Repeat(prose, 4))
			for b.Loop() {
				newIndex(read(text, layer{}).all).find(f, enough)
			}
		})
	}
}
