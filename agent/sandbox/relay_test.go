//go:build unix

package sandbox_test

import (
	"bytes"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ash/agent/sandbox"
)

// TestRelay is what Relay does inside a sandbox, without one: it carries connections while its program runs, and says what it cannot do.
func TestRelay(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c) // an echo
			}()
		}
	}()
	echoed := make(chan string, 1)
	go func() {
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			c, err := net.Dial("tcp", "127.0.0.1:3128")
			if err != nil {
				continue
			}
			_, _ = io.WriteString(c, "ping")
			_ = c.(*net.TCPConn).CloseWrite()
			answer, _ := io.ReadAll(c)
			_ = c.Close()
			if len(answer) == 0 {
				continue // it met one of those whose program ends at once, and its connections with it
			}
			echoed <- string(answer)
			return
		}
		echoed <- "nothing"
	}()
	for name, tt := range map[string]struct {
		args []string
		exit int
		says string
	}{
		"carries":      {[]string{socket, "sh", "-c", "sleep 1; echo said; exit 7"}, 7, "said"},
		"ends well":    {[]string{socket, "true"}, 0, ""},
		"is killed":    {[]string{socket, "sh", "-c", "kill -9 $$"}, 137, ""},
		"no program":   {[]string{socket, "/no/such/program"}, 125, "no such file"},
		"too little":   {[]string{socket}, 125, "needs a socket and a program"},
		"nobody there": {[]string{socket + "x", "true"}, 125, "cannot reach the network filter"},
	} {
		var out bytes.Buffer
		if exit := sandbox.Relay(t.Context(), tt.args, strings.NewReader(""), &out, &out); exit != tt.exit || !strings.Contains(out.String(), tt.says) {
			t.Errorf("%s: %d %q", name, exit, out.String())
		}
	}
	if got := <-echoed; got != "ping" {
		t.Errorf("carried %q", got)
	}
}
