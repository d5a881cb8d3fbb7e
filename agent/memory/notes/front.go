package notes

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"ash/agent"
)

// Bounds of front matter: its bytes, the values in it, and how deep they lie in each other.
const (
	maxFront  = 16 << 10
	maxValues = 2000
	maxNested = 12
)

// splitFront takes a text apart into front matter (without its fences; "" for none) and body. Front
// matter stands between two lines of three dashes, the first at the very beginning.
func splitFront(text string) (front, body string, ok bool) {
	rest := strings.TrimPrefix(text, "\uFEFF")
	first, rest, _ := strings.Cut(rest, "\n")
	if strings.TrimRight(first, " \t\r") != "---" {
		return "", text, true
	}
	at := 0
	for line := range strings.Lines(rest) {
		if l := strings.TrimRight(line, " \t\r\n"); l == "---" || l == "..." {
			return rest[:at], rest[at+len(line):], true
		}
		if at += len(line); at > maxFront {
			break
		}
	}
	return "", text, false
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
		return nil, nil, err
	}
	left := maxValues
	value, err := plain(&root, 0, &left)
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

// plain makes maps, lists, texts, numbers and truths of a node. Dates stay as written; what an alias stands for counts each time.
func plain(n *yaml.Node, depth int, left *int) (any, error) {
	if *left--; *left < 0 || depth > maxNested {
		return nil, errors.New("it holds too much")
	}
	switch n.Kind {
	case yaml.DocumentNode:
		if len(n.Content) == 0 {
			return nil, nil
		}
		return plain(n.Content[0], depth, left)
	case yaml.AliasNode:
		return plain(n.Alias, depth+1, left)
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for _, c := range n.Content {
			v, err := plain(c, depth+1, left)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case yaml.MappingNode:
		fields := make(map[string]any, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			v, err := plain(n.Content[i+1], depth+1, left)
			if err != nil {
				return nil, err
			}
			fields[n.Content[i].Value] = v
		}
		return fields, nil
	}
	return scalar(n), nil
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

// titleOf names a note: front matter, first heading, file name.
func titleOf(name string, fields map[string]any, body string) string {
	if t, ok := fields["title"].(string); ok && strings.TrimSpace(t) != "" {
		return agent.Clip(strings.TrimSpace(t), 300)
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
