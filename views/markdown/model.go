package markdown

import "strings"

// modelNames lists the elements with which models fence their thinking and their tool calls. The core takes them out of a
// reply where it reads it; what slips through is dropped here, with what it holds.
var modelNames = [...]string{
	"think", "thinking", "thought", "tool_call", "tool_calls", "tool_response", "tool_result",
	"function_call", "function_calls", "function_results",
}

// maxModelTag bounds the length of such a tag with its attributes, in bytes.
const maxModelTag = 200

// modelTag reads a model's tag at the beginning of s, which begins with '<'. It returns what ends the element ("" for a
// closing tag or a control token such as <|im_end|>, which stand alone) and the tag's length, 0 if there is none. open
// says that s may be the beginning of one.
func modelTag(s string) (end string, n int, open bool) {
	if len(s) == 1 {
		return "", 0, true // '<' alone
	}
	if s[1] == '|' {
		return controlToken(s)
	}
	body, closing := strings.CutPrefix(s[1:], "/")
	name := 0
	for name < len(body) && (body[name] == '_' || 'a' <= body[name]|0x20 && body[name]|0x20 <= 'z') {
		name++
	}
	known, prefix := lookupModelName(strings.ToLower(body[:name]))
	if name == len(body) {
		return "", 0, prefix
	}
	if !known || body[name] != '>' && !isBlank(body[name]) {
		return "", 0, false
	}
	stop := strings.IndexAny(body, ">\n")
	switch {
	case stop < 0:
		return "", 0, len(s) < maxModelTag
	case body[stop] == '\n':
		return "", 0, false
	}
	if n = len(s) - len(body) + stop + 1; n > maxModelTag {
		return "", 0, false
	}
	if closing {
		return "", n, false
	}
	return "</" + strings.ToLower(body[:name]) + ">", n, false
}

// controlToken reads <|name|>.
func controlToken(s string) (end string, n int, open bool) {
	for i := 2; i < len(s); i++ {
		c := s[i]
		if c == '|' && i > 2 {
			if i+1 == len(s) {
				return "", 0, true
			}
			if s[i+1] == '>' {
				return "", i + 2, false
			}
			return "", 0, false
		}
		if i > 40 || c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') {
			return "", 0, false
		}
	}
	return "", 0, true
}

func lookupModelName(s string) (known, prefix bool) {
	for _, name := range modelNames {
		if s == name {
			known = true
		}
		if strings.HasPrefix(name, s) {
			prefix = true
		}
	}
	return known, prefix
}

// indexFold is strings.Index for an ASCII needle in lower case, ignoring the case of s.
func indexFold(s, needle string) int {
	for i := 0; i+len(needle) <= len(s); i++ {
		j := strings.IndexByte(s[i:], needle[0])
		if j < 0 || i+j+len(needle) > len(s) {
			return -1
		}
		i += j
		if strings.EqualFold(s[i:i+len(needle)], needle) {
			return i
		}
	}
	return -1
}
