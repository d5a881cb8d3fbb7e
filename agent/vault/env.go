package vault

import (
	"bytes"
	"strings"

	"ash/agent"
)

// Variable is one line of a .env file. Value is the caller's, who wipes it.
type Variable struct {
	Key   string
	Value []byte
}

// Bounds of a .env file.
const (
	maxEnv       = 1 << 20
	maxVariables = 1000
)

// ParseEnv reads a .env file: KEY=value, an optional "export " before it, comments after "#", values plain, in single quotes (taken as they
// are) or in double quotes (\n \r \t \" \\ \$ are escapes); quoted ones may span lines. Nothing is expanded or executed. The
// later of two equal keys counts. CodeInvalid names the line and never repeats it.
func ParseEnv(data []byte) ([]Variable, error) {
	if len(data) > maxEnv {
		return nil, agent.Errorf(agent.CodeInvalid, "The file is larger than %d KiB, which is more than a .env file can need.", maxEnv>>10)
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return nil, agent.Errorf(agent.CodeInvalid, "This is not a .env file: it holds binary data.")
	}
	p := envReader{rest: bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), line: 1}
	var all []Variable
	at := make(map[string]int)
	for {
		v, ok, err := p.next()
		if err != nil || !ok {
			if err != nil {
				wipeVariables(all)
				return nil, err
			}
			return all, nil
		}
		if i, again := at[v.Key]; again {
			Wipe(all[i].Value)
			all[i] = v
			continue
		}
		if len(all) == maxVariables {
			wipeVariables(append(all, v))
			return nil, agent.Errorf(agent.CodeInvalid, "The file sets more than %d variables.", maxVariables)
		}
		at[v.Key] = len(all)
		all = append(all, v)
	}
}

func wipeVariables(all []Variable) {
	for _, v := range all {
		Wipe(v.Value)
	}
}

// envReader walks through a .env file.
type envReader struct {
	rest []byte
	line int
}

func (p *envReader) wrong(line int, what string) error {
	return agent.Errorf(agent.CodeInvalid, "Line %d of the .env file %s.", line, what)
}

// next returns the next variable; ok is false at the end.
func (p *envReader) next() (v Variable, ok bool, err error) {
	for len(p.rest) > 0 {
		line, _, _ := bytes.Cut(p.rest, []byte("\n"))
		trimmed := bytes.TrimSpace(line)
		if len(trimmed) == 0 || trimmed[0] == '#' {
			p.skip(len(line) + 1)
			continue
		}
		eq := bytes.IndexByte(line, '=')
		if eq < 0 {
			return v, false, p.wrong(p.line, "has no =")
		}
		key := string(bytes.TrimSpace(line[:eq]))
		if word, rest, found := strings.Cut(key, " "); found && word == "export" {
			key = strings.TrimSpace(rest)
		}
		if !isKey(key) {
			return v, false, p.wrong(p.line, "does not begin with the name of a variable")
		}
		p.skip(eq + 1)
		value, err := p.value()
		return Variable{key, value}, err == nil, err
	}
	return v, false, nil
}

// skip leaves n bytes behind (or all that is left) and counts their lines.
func (p *envReader) skip(n int) {
	n = min(n, len(p.rest))
	p.line += bytes.Count(p.rest[:n], []byte("\n"))
	p.rest = p.rest[n:]
}

// value reads what follows "=" up to the end of its line, or of the line on which its quotes close.
func (p *envReader) value() ([]byte, error) {
	p.skip(len(p.rest) - len(bytes.TrimLeft(p.rest, " \t")))
	if len(p.rest) > 0 && (p.rest[0] == '"' || p.rest[0] == '\'') {
		return p.quoted(p.rest[0])
	}
	line, _, _ := bytes.Cut(p.rest, []byte("\n"))
	value := line
	for i, c := range line { // a comment begins after white space
		if c == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
			value = line[:i]
			break
		}
	}
	value = bytes.Clone(bytes.TrimSpace(value))
	p.skip(len(line) + 1)
	return value, nil
}

func (p *envReader) quoted(quote byte) ([]byte, error) {
	start := p.line
	value := make([]byte, 0, bytes.IndexByte(append(p.rest[1:len(p.rest):len(p.rest)], quote), quote)+64)
	for i := 1; i < len(p.rest); i++ {
		c := p.rest[i]
		switch {
		case c == quote:
			p.skip(i + 1)
			line, _, _ := bytes.Cut(p.rest, []byte("\n"))
			if tail := bytes.TrimSpace(line); len(tail) > 0 && tail[0] != '#' {
				Wipe(value)
				return nil, p.wrong(p.line, "goes on after its closing quote")
			}
			p.skip(len(line) + 1)
			return value, nil
		case c == '\\' && quote == '"' && i+1 < len(p.rest):
			i++
			value = append(value, unescape(p.rest[i])...)
		default:
			value = append(value, c)
		}
	}
	Wipe(value)
	return nil, p.wrong(start, "opens a quote that never closes")
}

func unescape(c byte) []byte {
	switch c {
	case 'n':
		return []byte{'\n'}
	case 'r':
		return []byte{'\r'}
	case 't':
		return []byte{'\t'}
	case '"', '\\', '$':
		return []byte{c}
	}
	return []byte{'\\', c}
}

// isKey reports whether s can name a variable of the environment.
func isKey(s string) bool {
	if s == "" || len(s) > 256 || '0' <= s[0] && s[0] <= '9' {
		return false
	}
	for _, c := range []byte(s) {
		if c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}
