package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"ash/agent/guard"
)

// failing takes nothing.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

// values are what a vault knows.
type values []string

// Values implements guard.Secrets.
func (v values) Values() []string { return v }

// TestVeil: from the moment it is drawn no value of the vault is in a line, in whatever attribute and however it is written; before that all goes through as it is.
func TestVeil(t *testing.T) {
	const value = "correct/horse+battery staple"
	var out bytes.Buffer
	v := &veil{to: &out}
	if n, err := io.WriteString(v, "before "+value+"\n"); n != len("before "+value+"\n") || err != nil || !strings.Contains(out.String(), value) {
		t.Fatalf("%d %v %q", n, err, out.String())
	}
	g := guard.New(guard.Options{Secrets: values{value}})
	v.draw(g.Redact)
	log := slog.New(slog.NewTextHandler(v, nil))
	for name, text := range map[string]string{
		"plain": value, "within words": "x" + value + "y", "base64": base64.StdEncoding.EncodeToString([]byte(value)), "base64 of more": base64.StdEncoding.EncodeToString([]byte("user:" + value + "!")),
		"base64 for addresses": base64.URLEncoding.EncodeToString([]byte(value)), "hex": hex.EncodeToString([]byte(value)), "query": url.QueryEscape(value), "path": url.PathEscape(value),
	} {
		for where, write := range map[string]func(){
			"message": func() { log.Info(text) }, "attribute": func() { log.Info("said", "what", text) }, "group": func() { log.WithGroup("g").With("k", text).Warn("x") },
			"error": func() { log.Error("failed", "error", errors.New("no: "+text)) },
		} {
			out.Reset()
			write()
			line := out.String()
			if strings.Contains(line, text) || strings.Contains(line, value) || !strings.Contains(line, "[secret") || !strings.HasSuffix(line, "\n") {
				t.Errorf("%s as %s: %q", name, where, line)
			}
		}
	}
	out.Reset()
	plain := "time=1 level=INFO msg=\"nothing to hide\"\n"
	if n, err := io.WriteString(v, plain); n != len(plain) || err != nil || out.String() != plain {
		t.Errorf("%d %v %q", n, err, out.String())
	}

	// A line is written as one: io.Writer says that all was taken though less went on, and a failure is told.
	out.Reset()
	if n, err := io.WriteString(v, value+"\n"); n != len(value)+1 || err != nil || out.Len() == 0 {
		t.Errorf("%d %v %q", n, err, out.String())
	}
	v.to = failing{}
	if n, err := io.WriteString(v, value); n != 0 || err == nil {
		t.Errorf("%d %v", n, err)
	}
}
