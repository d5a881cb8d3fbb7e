package vault

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
)

// TestPhraseVectors are the 256-bit vectors of BIP-39 (trezor/python-mnemonic, vectors.json).
func TestPhraseVectors(t *testing.T) {
	for _, c := range []struct{ entropy, phrase string }{
		{strings.Repeat("00", 32), strings.Repeat("abandon ", 23) + "art"},
		{strings.Repeat("7f", 32), strings.Repeat("legal winner thank year wave sausage worth useful ", 2) + "legal winner thank year wave sausage worth title"},
		{strings.Repeat("80", 32), strings.Repeat("letter advice cage absurd amount doctor acoustic avoid ", 2) + "letter advice cage absurd amount doctor acoustic bless"},
		{strings.Repeat("ff", 32), strings.Repeat("zoo ", 23) + "vote"},
		{
			"68a79eaca2324873eacc50cb9c6eca8cc68ea5d936f98787c60c7ebc74e6ce7c",
			"hamster diagram private dutch cause delay private meat slide toddler razor book happy fancy gospel tennis maple dilemma loan word shrug inflict delay length",
		},
		{
			"9f6a2878b2520799a44ef18bc7df394e7061a224d2c33cd015b157d746869863",
			"panda eyebrow bullet gorilla call smoke muffin taste mesh discover soft ostrich alcohol speed nation flash devote level hobby quick inner drive ghost inside",
		},
		{
			"066dca1a2bb7e8a1db2832148ce9933eea0f3ac9548d793112d9a95c9407efad",
			"all hour make first leader extend hole alien behind guard gospel lava path output census museum junior mass reopen famous sing advance salt reform",
		},
	} {
		entropy, err := hex.DecodeString(c.entropy)
		if err != nil {
			t.Fatal(err)
		}
		if got := encodePhrase(entropy); got != c.phrase {
			t.Errorf("%s: %s", c.entropy, got)
		}
		back, err := decodePhrase(c.phrase)
		if err != nil || !bytes.Equal(back, entropy) {
			t.Errorf("%s: %x, %v", c.phrase, back, err)
		}
	}
	if sum := sha256.Sum256([]byte(english)); hex.EncodeToString(sum[:]) != "2f5eed53a4727b4bf8880d8f3f199efc90e58503646d9ff8eff3a2ed3b24dbda" {
		t.Error("the word list is not that of BIP-39")
	}
}

// TestWrongWordsAreSeen changes one word, and swaps two neighbours: 8 bits of checksum see all but one in 256.
func TestWrongWordsAreSeen(t *testing.T) {
	list, missed, tried := words(), 0, 0
	for range 20 {
		phrase, _, err := newPhrase()
		if err != nil {
			t.Fatal(err)
		}
		said := strings.Fields(phrase)
		for i := range said {
			for _, w := range []string{list[(i*97+tried)%2048], "zzz"} {
				wrong := slices.Clone(said)
				wrong[i] = w
				tried++
				if _, err := decodePhrase(strings.Join(wrong, " ")); err == nil && w != said[i] {
					missed++
				} else if err != nil && strings.Contains(err.Error(), said[(i+1)%24]+" "+said[(i+2)%24]) {
					t.Fatalf("the error repeats words: %v", err)
				}
			}
		}
	}
	if missed > tried/40 {
		t.Errorf("%d of %d wrong words were not seen", missed, tried)
	}
}

func TestBech32IsWhatAgeReads(t *testing.T) {
	for range 50 {
		id, err := age.GenerateX25519Identity()
		if err != nil {
			t.Fatal(err)
		}
		data, err := debech32(id.Recipient().String())
		if err != nil {
			t.Fatal(err)
		}
		if got := bech32("age", data); got != id.Recipient().String() {
			t.Fatalf("%s, want %s", got, id.Recipient())
		}
	}
}

// debech32 decodes without looking at the checksum.
func debech32(s string) (out []byte, err error) {
	acc, bits := 0, 0
	for _, c := range s[4 : len(s)-6] {
		i := strings.IndexRune("qpzry9x8gf2tvdw0s3jn54khce6mua7l", c)
		if i < 0 {
			return nil, fmt.Errorf("%q", c)
		}
		acc, bits = acc<<5|i, bits+5
		if bits >= 8 {
			bits -= 8
			out = append(out, byte(acc>>bits))
			acc &= 1<<bits - 1
		}
	}
	return out, nil
}

// TestWipingAnIdentity fails when age changes its insides.
func TestWipingAnIdentity(t *testing.T) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := seal([]byte("x"), id.Recipient())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unseal(sealed, id); err != nil {
		t.Fatal(err)
	}
	wipeIdentity(id)
	if _, err := unseal(sealed, id); err == nil {
		t.Error("a wiped identity still opens files")
	}
	k, err := newKeys("018f0000-0000-7000-8000-000000000000")
	if err != nil {
		t.Fatal(err)
	}
	mac, id2 := k.mac, k.id
	v := &Vault{keys: k, next: make(chan struct{})}
	v.drop()
	if !bytes.Equal(mac, make([]byte, 32)) || strings.Trim(id2.String()[len("AGE-SECRET-KEY-1"):len("AGE-SECRET-KEY-1")+40], "Q") != "" || v.keys != nil {
		t.Error("locking leaves the keys in memory")
	}
}

func TestNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"provider/anthropic": true, "tool/brave": true, "plugin/git-hub/api_key.2": true, "channel/telegram/token": true, "door/ca": true,
		"": false, "provider": false, "provider/": false, "/provider/x": false, "provider/x/y": false, "plugin/x": false, "plugin/x/y/z": false,
		"Provider/x": false, "provider/X": false, "provider/..": false, "provider/.x": false, "provider/x.": false, "provider/-x": false,
		"provider/x y": false, "provider/x\n": false, "provider/é": false, "other/x": false, "provider\\x": false, "provider/a/../b": false,
		"provider/" + strings.Repeat("a", 63): true, "provider/" + strings.Repeat("a", 64): false,
	} {
		if err := CheckName(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
	for host, ok := range map[string]bool{
		"api.example.com": true, "localhost": true, "localhost:8080": true, "a_b.example.com": true, "*.example.com": true, "*.example.com:443": true, "127.0.0.1": true, "127.0.0.1:11434": true,
		"[::1]": true, "[::1]:80": true, "xn--bcher-kva.example": true,
		"": false, "*": false, "*.com": false, "*.*.com": false, "a.*.com": false, "API.example.com": false, "https://x.com": false, "x.com/": false, "x.com:": false, "x.com:0": false,
		"x.com:65536": false, "x.com:080": false, "x.com.": false, ".x.com": false, "-x.com": false, "::1": false, "[127.0.0.1]": false, "127.1": false, "0x7f000001": false, "2130706433": false, "1.2.3": false,
		"*.127.0.0.1": false, "[::ffff:1.2.3.4]": false, "[fe80::1%eth0]": false, "x@y.com": false, "bücher.example": false, "x.com:80:80": false, "*.127.0.0.1:80": false, "[::1]x": false,
	} {
		if err := CheckHost(host); (err == nil) != ok {
			t.Errorf("%q: %v", host, err)
		}
	}
}

func TestEnv(t *testing.T) {
	text := "\xef\xbb\xbf# keys\n\nexport A=one\nB = two words # not this\nC='it''s'\n"
	if _, err := ParseEnv([]byte(text)); err == nil || !strings.Contains(err.Error(), "Line 5") {
		t.Errorf("%v", err)
	}
	text = "\xef\xbb\xbf# keys\r\n\r\nexport A=one\r\nB = two words # not this\nC='raw $x\\n # \"q\"'\nD=\"a\\nb\\\"c\\$d\\e\" # c\nE=\nF=\"-----BEGIN\nxyz\n-----END\"\nG=a#b\nA=again\nH=''\nI=#c"
	all, err := ParseEnv([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, v := range all {
		got += fmt.Sprintf("%s=%q ", v.Key, v.Value)
	}
	want := `A="again" B="two words" C="raw $x\\n # \"q\"" D="a\nb\"c$d\\e" E="" F="-----BEGIN\nxyz\n-----END" G="a#b" H="" I="" `
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, bad := range []string{"no sign", "1A=x", "A B=x", "A=\"open", "A='open\n\n", "A=\"x\" y", "=x", "A=x\x00", "A-B=x", "export=x y\nexport =z=\n=", strings.Repeat("A=x\n", 300000)} {
		if _, err := ParseEnv([]byte(bad)); err == nil {
			t.Errorf("%.20q was taken", bad)
		} else if strings.Contains(err.Error(), "open") && strings.Contains(bad, "=\"open") && !strings.Contains(err.Error(), "opens") {
			t.Errorf("the error repeats the file: %v", err)
		}
	}
}

func testLabel() label {
	return label{
		Vault: "018f0000-0000-7000-8000-000000000000", File: "secrets/1-00.age", Name: "tool/brave", Version: 1,
		Hosts: []string{"a.example.com"}, Users: []string{"tool/brave"}, Added: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
}

func TestPayloadHidesLengths(t *testing.T) {
	short, err := encodeSecret(testLabel(), []byte("k"))
	if err != nil {
		t.Fatal(err)
	}
	long, err := encodeSecret(testLabel(), bytes.Repeat([]byte("k"), 150))
	if err != nil {
		t.Fatal(err)
	}
	if len(short) != len(long) || len(short)%padTo != 0 {
		t.Errorf("%d and %d bytes", len(short), len(long))
	}
}

func FuzzSecret(f *testing.F) {
	plain, err := encodeSecret(testLabel(), []byte("value"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(plain)
	f.Add([]byte(secretHead + "{}\n"))
	f.Fuzz(func(t *testing.T, plain []byte) {
		l, value, err := decodeSecret(plain)
		if err != nil {
			return
		}
		again, err := encodeSecret(l, value)
		if err != nil || !bytes.Equal(again, plain) || CheckName(l.Name) != nil {
			t.Fatalf("%q is read as %+v %q", plain, l, value)
		}
	})
}

func FuzzRoot(f *testing.F) {
	k, err := newKeys("018f0000-0000-7000-8000-000000000000")
	if err != nil {
		f.Fatal(err)
	}
	r := root{Format: format, Vault: k.vault, Serial: 3, Recipient: k.id.Recipient().String(), Identity: refer("identity-1.age", nil), Index: refer("index-3.age", nil)}
	text, err := r.encode(k)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(sentinel{format, k.vault}.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := decodeSentinel(b); err == nil && !bytes.Equal(s.encode(), b) {
			t.Fatalf("%q", b)
		}
		r, err := decodeRoot(b)
		if err != nil {
			return
		}
		if again, err := r.encode(k); err != nil || len(again) != len(b) || !bytes.Equal(again[:len(again)-65], b[:len(b)-65]) {
			t.Fatalf("%q is read as %+v", b, r)
		}
		if k.proven(b) && !bytes.Equal(b, text) {
			t.Logf("proven: %q", b) // by a fuzzer that found HMAC's secret
		}
	})
}

func FuzzKeysAndIndex(f *testing.F) {
	k, err := newKeys("018f0000-0000-7000-8000-000000000000")
	if err != nil {
		f.Fatal(err)
	}
	body, err := (&index{Vault: k.vault, Serial: 1, Entries: []entry{}, Taken: []string{}}).encode(k)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(k.encode())
	f.Add(body)
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, err := decodeKeys(b); err == nil && !bytes.Equal(got.encode(), b) {
			t.Fatal("keys are read in two ways")
		}
		if _, err := decodeIndex(b, k); err == nil && !bytes.Equal(b, body) {
			t.Fatalf("an index nobody wrote is believed: %q", b)
		}
		// The same with a proof that fits: what the MAC keeps out must not be able to do harm either.
		if _, rest, ok := bytes.Cut(b, []byte("\n")); ok {
			_, err := decodeIndex(slices.Concat([]byte(indexHead+k.sign("index", rest)+"\n"), rest), k)
			_ = err
		}
	})
}

func FuzzEnv(f *testing.F) {
	f.Add([]byte("A=b\nexport C='d'\nE=\"f\\n\" # g\n"))
	f.Add([]byte("A=\"x\ny\"\n#\n=\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := ParseEnv(data)
		if err != nil {
			return
		}
		seen := make(map[string]bool)
		for _, v := range all {
			if !isKey(v.Key) || seen[v.Key] || len(v.Value) > len(data) {
				t.Fatalf("%q: %q=%q", data, v.Key, v.Value)
			}
			seen[v.Key] = true
		}
	})
}

func FuzzNames(f *testing.F) {
	f.Add("provider/anthropic", "api.example.com:8080")
	f.Add("plugin/a/b", "*.x.y")
	f.Add("door/ca", "[::1]:80")
	f.Fuzz(func(t *testing.T, name, host string) {
		if CheckName(name) == nil && (strings.ContainsAny(name, "\\ \n\x00.") && strings.Contains(name, "..") && strings.Contains(name, "/../") || CheckUser(DefaultUser(name)) != nil) {
			t.Fatalf("%q is a name", name)
		}
		if CheckHost(host) != nil {
			if host != "" && goesTo([]string{host, "x.example.com"}, host) {
				t.Fatalf("a secret goes to %q", host)
			}
			return
		}
		if !strings.HasPrefix(host, "*") && !goesTo([]string{host}, host) {
			t.Fatalf("a secret bound to %q does not go there", host)
		}
		if goesTo(nil, host) || goesTo([]string{"other.invalid"}, host) && !strings.HasPrefix(host, "other.invalid") {
			t.Fatalf("a secret goes to %q unbound", host)
		}
	})
}

func FuzzPhrase(f *testing.F) {
	f.Add(strings.Repeat("abandon ", 23) + "art")
	f.Add("zoo zoo 1. zoo")
	f.Fuzz(func(t *testing.T, phrase string) {
		entropy, err := decodePhrase(phrase)
		if err != nil {
			return
		}
		back, err := decodePhrase(encodePhrase(entropy))
		if err != nil || !bytes.Equal(back, entropy) {
			t.Fatalf("%q", phrase)
		}
	})
}
