package notes

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"ash/agent"
)

// Bounds of front matter: its bytes, the values in it, how deep they lie in each other, and their bytes once what an
// alias stands for is in its place.
const (
	maxFront  = 16 << 10
	maxValues = 2000
	maxNested = 12
	maxPlain  = 64 << 10
)

// byteOrderMark is what some Windows editors put before a text.
const byteOrderMark = "\uFEFF"

// What is wrong with front matter as a whole.
var (
	errOpen = errors.New("has no end: a line of three dashes is missing")
	errLong = fmt.Errorf("is longer than %d KB, or has no end", maxFront>>10)
)

// splitFront takes a text apart into front matter (without its fences; "" for none) and body. Front
// matter stands between two lines of three dashes, the first at the very beginning. Where it has no end all is body, and
// the error says so, unless the dashes are no more than a line across the page.
func splitFront(text string) (front, body string, err error) {
	text = strings.TrimPrefix(text, byteOrderMark)
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t\r") != "---" {
		return "", text, nil
	}
	at, names := 0, false
	for line := range strings.Lines(rest) {
		l := strings.TrimRight(line, " \t\r\n")
		if l == "---" || l == "..." {
			return rest[:at], rest[at+len(line):], nil
		}
		names = names || at == 0 && strings.Contains(l, ":")
		if at += len(line); at > maxFront {
			return "", text, errLong
		}
	}
	if names {
		err = errOpen
	}
	return "", text, err
}

// Body is a text without its front matter.
func Body(text string) string {
	_, body, _ := splitFront(text) // without an end it is a part of the body
	return body
}

// parseFront returns front matter as JSON, nil for none. The error is for the person.
func parseFront(front string) (fields map[string]any, raw json.RawMessage, err error) {
	if strings.TrimSpace(front) == "" {
		return nil, nil, nil
	}
	defer func() { // the parser is known to have panicked on hostile input
		if p := recover(); p != nil {
			fields, raw, err = nil, nil, fmt.Errorf("unreadable: %v", p)
		}
	}()
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(front), &root); err != nil {
		return nil, nil, inFile(err)
	}
	if root.Kind == 0 { // nothing but comments
		return nil, nil, nil
	}
	value, err := (&plainer{values: maxValues, bytes: maxPlain}).plain(&root, 0)
	if err != nil {
		return nil, nil, err
	}
	fields, ok := value.(map[string]any)
	if !ok && value != nil {
		return nil, nil, errors.New("it is no list of names and values")
	}
	if raw, err = json.Marshal(fields); err != nil {
		return nil, nil, err
	}
	return fields, raw, nil
}

// yamlLine is how the parser begins an error: with a line of the front matter, which begins in the second of the file.
var yamlLine = regexp.MustCompile(`^yaml: line (\d+): `)

func inFile(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			text = fmt.Sprintf("line %d: %s", n+1, text[len(m[0])-len("yaml: "):])
		}
	}
	if strings.Contains(text, "found character that cannot start any token") {
		text += " (tabs cannot indent it, only spaces)"
	}
	return errors.New(text)
}

// plainer makes plain values of nodes, up to its bounds.
type plainer struct{ values, bytes int }

// plain makes maps, lists, texts, numbers and truths of a node. Dates stay as written; what an alias stands for counts each time.
func (p *plainer) plain(n *yaml.Node, depth int) (any, error) {
	p.values--
	if p.bytes -= len(n.Value); p.values < 0 || p.bytes < 0 || depth > maxNested {
		return nil, errors.New("it holds too much")
	}
	switch n.Kind {
	case yaml.DocumentNode:
		if len(n.Content) == 0 {
			return nil, nil
		}
		return p.plain(n.Content[0], depth)
	case yaml.AliasNode:
		return p.plain(n.Alias, depth+1)
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for _, c := range n.Content {
			v, err := p.plain(c, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case yaml.MappingNode:
		return p.fields(n, depth)
	}
	return scalar(n), nil
}

// fields makes a map. A name that stands in it twice is refused: one of the two would be lost unseen.
func (p *plainer) fields(n *yaml.Node, depth int) (map[string]any, error) {
	fields := make(map[string]any, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i]
		if name.Kind != yaml.ScalarNode {
			return nil, fmt.Errorf("line %d: a name in it is a list", name.Line+1)
		}
		if _, twice := fields[name.Value]; twice {
			return nil, fmt.Errorf("line %d: %q stands in it twice", name.Line+1, agent.Clip(name.Value, 60))
		}
		p.bytes -= len(name.Value)
		v, err := p.plain(n.Content[i+1], depth+1)
		if err != nil {
			return nil, err
		}
		fields[name.Value] = v
	}
	return fields, nil
}

func scalar(n *yaml.Node) any {
	switch n.Tag {
	case "!!null":
		return nil
	case "!!bool":
		return strings.EqualFold(n.Value, "true")
	case "!!int":
		if i, err := strconv.ParseInt(n.Value, 10, 64); err == nil {
			return i
		}
	}
	return n.Value
}

// titleOf names a note: front matter, first heading, file name. It is one line.
func titleOf(name string, fields map[string]any, body string) string {
	switch t := fields["title"].(type) {
	case string:
		if t = strings.Join(strings.Fields(t), " "); t != "" {
			return agent.Clip(t, 300)
		}
	case int64:
		return strconv.FormatInt(t, 10)
	}
	for s := range sections(body) {
		if s.level == 1 && s.heading != "" {
			return agent.Clip(s.heading, 300)
		}
		if s.level > 0 {
			break
		}
	}
	return stem(path.Base(name))
}
