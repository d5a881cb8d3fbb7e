package sandbox_test

import (
	"testing"
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
