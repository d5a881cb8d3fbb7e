//go:build unix

package sandbox_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/sandbox"
)

func TestCommandsRun(t *testing.T) {
	engines(t, func(t *testing.T, k *kit) {
		for _, test := range []struct {
			name, line, output string
			exit               int
		}{
			{"output of both kinds", "echo one; echo two >&2", "one\ntwo\n", 0},
			{"exit code", "exit 7", "", 7},
			{"last exit code", "true; false", "", 1},
			{"a syntax error", "if true; then", "", 2},
			{"unknown program", "no-such-program", "", 127},
			{"killed by a signal", "kill -9 $$", "", 137},
			{"replaces its shell", "exec sh -c 'exit 5'", "", 5},
			{"kills everything it may", "kill -9 -1", "", 137},
			{"set -e", "set -e; false; echo no", "", 1},
			{"quotes and dollars", `printf '%s|' "a b" 'c"d' \$HOME`, `a b|c"d|$HOME|`, 0},
			{"several lines", "cat <<X\nhere\nX\nfalse || echo or", "here\nor\n", 0},
			{"its own name", "id -un; cat /etc/hosts >/dev/null; getent passwd root >/dev/null", "", 0},
			{"certificates", "ls /etc/ssl/certs/ca-certificates.crt >/dev/null", "", 0},
			{"python", "python3 -c 'print(6*7)'", "42\n", 0},
			{"git", "rm -rf r; git init -q r && cd r && git status -s && rm -rf ../r && echo ok", "ok\n", 0},
			{"not root", `[ "$(id -u)" != 0 ] && echo ok`, "ok\n", 0},
		} {
			t.Run(test.name, func(t *testing.T) {
				o := k.line(test.line)
				if o.Exit != test.exit || (test.output != "" && o.Output != test.output) {
					t.Errorf("%s: exit %d, want %d; output %q, want %q", test.line, o.Exit, test.exit, o.Output, test.output)
				}
				if o.TimedOut || o.OutOfMemory || o.Truncated || o.Overflow != "" {
					t.Errorf("%+v", o.Result)
				}
			})
		}
	})
}

func TestWorkingDirectoryIsKept(t *testing.T) {
	engines(t, func(t *testing.T, k *kit) {
		hostile := "a b\n'\"$(touch pwned)`;&|*\\ -rf"
		for _, dir := range []string{"sub/deep", hostile} {
			if err := os.MkdirAll(filepath.Join(k.root, dir), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if o := k.line("cd sub/deep && exit 3"); o.Dir != "sub/deep" || o.Exit != 3 {
			t.Errorf("after cd: %q, exit %d", o.Dir, o.Exit)
		}
		if o := k.run(t.Context(), sandbox.Command{Line: "pwd; cd ..", Dir: "sub/deep"}); o.Output != "/work/sub/deep\n" || o.Dir != "sub" {
			t.Errorf("from sub/deep: %q, then %q", o.Output, o.Dir)
		}
		if o := k.run(t.Context(), sandbox.Command{Line: "touch here", Dir: hostile}); o.Err != nil || o.Dir != hostile {
			t.Errorf("hostile folder: %q, %v", o.Dir, o.Err)
		}
		if _, err := os.Stat(filepath.Join(k.root, hostile, "here")); err != nil {
			t.Error(err)
		}
		if o := k.run(t.Context(), sandbox.Command{Line: "cd /tmp", Dir: "sub"}); o.Dir != "sub" {
			t.Errorf("outside of the root is not kept, but Dir became %q", o.Dir)
		}
		if o := k.run(t.Context(), sandbox.Command{Line: "pwd", Dir: "gone"}); o.Dir != "" || !strings.HasSuffix(o.Output, "/work\n") || !strings.Contains(o.Output, "gone is not there") {
			t.Errorf("a folder that is gone: %q, %q", o.Dir, o.Output)
		}
		if o := k.line("exec >/dev/null; trap - INT; cd sub"); o.Dir != "sub" {
			t.Errorf("with its output turned away: %q", o.Dir)
		}
	})
}

func TestBadCommandsAreRefused(t *testing.T) {
	engines(t, func(t *testing.T, k *kit) {
		file := filepath.Join(k.root, "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		link := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(k.home, link); err != nil {
			t.Fatal(err)
		}
		for name, test := range map[string]struct {
			c    sandbox.Command
			want agent.Code
		}{
			"nothing":                    {sandbox.Command{Line: " \n"}, agent.CodeInvalid},
			"zero byte":                  {sandbox.Command{Line: "echo \x00"}, agent.CodeInvalid},
			"too long":                   {sandbox.Command{Line: strings.Repeat("a", 200_000)}, agent.CodeInvalid},
			"folder above":               {sandbox.Command{Line: "true", Dir: "../.."}, agent.CodeInvalid},
			"absolute folder":            {sandbox.Command{Line: "true", Dir: "/etc"}, agent.CodeInvalid},
			"bad variable":               {sandbox.Command{Line: "true", Env: []string{"A B=1"}}, agent.CodeInvalid},
			"relative root":              {sandbox.Command{Line: "true", Root: "files"}, agent.CodeInvalid},
			"root is a file":             {sandbox.Command{Line: "true", Root: file}, agent.CodeInvalid},
			"root is not there":          {sandbox.Command{Line: "true", Root: filepath.Join(k.root, "none")}, agent.CodeNotFound},
			"root is the machine":        {sandbox.Command{Line: "true", Root: "/"}, agent.CodeDenied},
			"root is the home of Ash":    {sandbox.Command{Line: "true", Root: k.home}, agent.CodeDenied},
			"root holds the home":        {sandbox.Command{Line: "true", Root: filepath.Dir(k.home)}, agent.CodeDenied},
			"root is in the home":        {sandbox.Command{Line: "true", Root: filepath.Join(k.home, "workspace")}, agent.CodeDenied},
			"root is a link to the home": {sandbox.Command{Line: "true", Root: link}, agent.CodeDenied},
			"root is of the system":      {sandbox.Command{Line: "true", Root: "/proc/self"}, agent.CodeDenied},
			"network without a gateway":  {sandbox.Command{Line: "true", Hosts: []string{"*"}}, agent.CodeUnavailable},
		} {
			t.Run(name, func(t *testing.T) {
				if o := k.run(t.Context(), test.c); agent.CodeOf(o.Err) != test.want {
					t.Errorf("got %v, want %s", o.Err, test.want)
				}
			})
		}
	})
}

func TestOutputComesAsItIsMade(t *testing.T) {
	engines(t, func(t *testing.T, k *kit) {
		k.line("true")
		began := time.Now()
		var first time.Duration
		_, err := k.Run(t.Context(), sandbox.Command{Thread: k.thread, Root: k.root, Line: "echo early; sleep 1; echo late"}, func([]byte) {
			if first == 0 {
				first = time.Since(began)
			}
		})
		if err != nil || first == 0 || first > 800*time.Millisecond {
			t.Errorf("first output after %s, %v", first, err)
		}
	})
}

func TestInputAndVariables(t *testing.T) {
	engines(t, func(t *testing.T, k *kit) {
		big := bytes.Repeat([]byte("0123456789abcde\n"), 1<<16)
		if o := k.run(t.Context(), sandbox.Command{Line: "wc -c; echo $GREETING", Stdin: big, Env: []string{"GREETING=hello  there"}}); o.Output != "1048576\nhello there\n" || o.Err != nil {
			t.Errorf("%q %v", o.Output, o.Err)
		}
		if o := k.line("cat; echo end"); o.Output != "end\n" {
			t.Errorf("without input: %q", o.Output)
		}
		if o := k.run(t.Context(), sandbox.Command{Line: "exit 4", Stdin: big}); o.Exit != 4 || o.Err != nil {
			t.Errorf("input that nobody reads: %+v", o)
		}
		// What would rule the programs that set the sandbox up only reaches the command. Where the linker's own complaint stands is chance: it
		// is written before standard error joins standard output, and Docker carries them apart.
		if o := k.run(t.Context(), sandbox.Command{Line: "true; echo ok", Env: []string{"LD_PRELOAD=/work/evil.so", "BASH_ENV=/work/evil", "PATH=/work:/usr/bin:/bin"}}); o.Err != nil || o.Exit != 0 || !strings.Contains(o.Output, "ok\n") {
			t.Errorf("%q %v", o.Output, o.Err)
		}
		if o := k.line("env | sort | cut -d= -f1 | tr '\\n' ' '"); strings.Contains(o.Output, "ASH_") || strings.Contains(o.Output, "GREETING") {
			t.Errorf("variables: %s", o.Output)
		}
	})
}

func TestMarksCannotBeForged(t *testing.T) {
	engines(t, func(t *testing.T, k *kit) {
		o := k.line(`printf 'a\0AAAAAAAAAAAAAAAAAAAAAAAAAA E0\0b'; head -c 70000 /dev/zero | tr '\0' x; exit 9`)
		if o.Exit != 9 || len(o.Output) != 70000+33 {
			t.Errorf("exit %d, %d bytes", o.Exit, len(o.Output))
		}
	})
}
