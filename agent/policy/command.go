package policy

import (
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

// maxCommand bounds what is parsed as a command, in bytes.
const maxCommand = 4 << 10

// simpleCommand returns the words of text when it is one simple command whose words are all literal: no operator,
// substitution, expansion, glob, redirection, assignment, comment, escape or second line. Both bash and plain sh must read the same words.
func simpleCommand(text string) ([]string, bool) {
	if len(text) > maxCommand || strings.ContainsFunc(text, notPlain) {
		return nil, false
	}
	words, ok := wordsIn(text, syntax.LangBash)
	if !ok {
		return nil, false
	}
	plain, ok := wordsIn(text, syntax.LangPOSIX)
	if !ok || len(plain) != len(words) {
		return nil, false
	}
	for i := range words {
		if words[i] != plain[i] {
			return nil, false
		}
	}
	if words[0] == "" || strings.ContainsAny(words[0], "=") {
		return nil, false
	}
	return words, true
}

// notPlain reports characters that never stand in a command a rule is about: they end a line, hide, or escape.
func notPlain(r rune) bool {
	return r == '\\' || r == unicode.ReplacementChar || (r != ' ' && !unicode.IsGraphic(r)) || (r > unicode.MaxASCII && unicode.IsSpace(r))
}

func wordsIn(text string, lang syntax.LangVariant) ([]string, bool) {
	file, err := syntax.NewParser(syntax.Variant(lang), syntax.KeepComments(true)).Parse(strings.NewReader(text), "")
	if err != nil || len(file.Stmts) != 1 || len(file.Last) > 0 {
		return nil, false
	}
	st := file.Stmts[0]
	if st.Negated || st.Background || st.Coprocess || st.Disown || len(st.Redirs) > 0 || len(st.Comments) > 0 || st.Semicolon.IsValid() {
		return nil, false
	}
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 || len(call.Args) == 0 {
		return nil, false
	}
	words := make([]string, 0, len(call.Args))
	for _, w := range call.Args {
		s, ok := literal(w.Parts, false)
		if !ok {
			return nil, false
		}
		words = append(words, s)
	}
	return words, true
}

// literal returns what parts of a word stand for, if the shell takes them as they are.
func literal(parts []syntax.WordPart, quoted bool) (string, bool) {
	var b strings.Builder
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if !quoted && strings.ContainsAny(p.Value, "*?[]{}~!^#") {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			s, ok := literal(p.Parts, true)
			if p.Dollar || quoted || !ok || strings.ContainsAny(s, "$`") {
				return "", false
			}
			b.WriteString(s)
		default:
			return "", false
		}
	}
	return b.String(), true
}

// inWriting returns words as a shell would read them again.
func inWriting(words []string) (string, bool) {
	quoted := make([]string, len(words))
	for i, w := range words {
		q, err := syntax.Quote(w, syntax.LangPOSIX)
		if err != nil {
			return "", false
		}
		quoted[i] = q
	}
	text := strings.Join(quoted, " ")
	again, ok := simpleCommand(text)
	return text, ok && strings.Join(again, "\x00") == strings.Join(words, "\x00")
}

// neverOffered are commands that run whatever their arguments say, install, or change who runs: a standing
// permission for one would stand for much more than its words.
var neverOffered = [...]string{
	"sh", "bash", "dash", "zsh", "fish", "ksh", "busybox", "eval", "exec", "source", ".", "command", "builtin", "env", "xargs", "nohup", "setsid",
	"timeout", "time", "nice", "watch", "parallel", "find", "fd", "awk", "gawk", "sed", "perl", "python", "python2", "python3", "ruby", "node", "deno", "bun",
	"php", "lua", "java", "Rscript", "R", "julia", "osascript", "pwsh", "tclsh", "expect", "gdb", "vim", "vi", "emacs", "nano", "ed", "script", "tmux", "screen",
	"npm", "npx", "yarn", "pnpm", "pip", "pip3", "pipx", "uv", "uvx", "poetry", "conda", "gem", "bundle", "cargo", "apt", "apt-get", "dpkg", "yum", "dnf",
	"apk", "brew", "snap", "pacman", "zypper", "nix", "go", "make", "just", "cmake", "ninja", "gradle", "mvn",
	"sudo", "su", "doas", "pkexec", "runuser", "chroot", "unshare", "nsenter", "docker", "podman", "kubectl", "systemctl", "crontab", "at", "ssh", "scp",
	"curl", "wget", "nc", "ncat", "socat", "telnet", "rsync", "rm", "dd", "mkfs", "mount", "chmod", "chown", "ln", "kill", "killall", "pkill",
}

// offered reports whether a standing rule may be offered for a command at all.
func offered(words []string) bool {
	if strings.Contains(words[0], "/") {
		return false // what lies at a path can be replaced
	}
	name := strings.TrimRight(words[0], "0123456789.")
	for _, n := range neverOffered {
		if n == words[0] || (name != "" && n == name) {
			return false
		}
	}
	return !(words[0] == "git" && len(words) > 1 && !gitReads(words[1]))
}

// gitReads reports whether a subcommand of git only looks, whatever arguments it is given but those in writes.
func gitReads(sub string) bool {
	switch sub {
	case "status", "log", "diff", "show", "blame", "rev-parse", "ls-files", "describe", "shortlog":
		return true
	}
	return false
}

// wildcard returns the beginning of a command that may stand for any arguments after it.
func wildcard(words []string) ([]string, bool) {
	if len(words) >= 2 && words[0] == "git" && gitReads(words[1]) && harmless(words[2:]) {
		return words[:2], true
	}
	return nil, false
}

// writing are the options of commands that otherwise only look by which they write or run something. Options may be shortened.
var writing = [...]string{"--output", "--ext-diff", "--textconv", "--exec", "--open-files-in-pager", "--paginate", "--config-env"}

// harmless reports whether none of the arguments after the words of a wildcard rule makes it write or run something.
func harmless(arguments []string) bool {
	for _, a := range arguments {
		name, _, _ := strings.Cut(a, "=")
		switch {
		case a == "--":
			return true // what follows are paths
		case !strings.HasPrefix(name, "-"):
			continue
		}
		for _, w := range writing {
			if strings.HasPrefix(w, name) {
				return false
			}
		}
	}
	return true
}
