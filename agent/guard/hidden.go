package guard

import (
	"sort"
	"strings"
)

// hiddenRanges returns the parts of HTML and Markdown that are not shown: comments, elements styled away, attributes that hold
// prose, Markdown's link titles and reference comments. In order, without overlap.
func hiddenRanges(text string) []run {
	var out []run
	if strings.IndexByte(text, '<') >= 0 {
		out = append(out, htmlHidden(text)...)
	}
	out = append(out, markdownHidden(text)...)
	sort.Slice(out, func(i, j int) bool { return out[i].start < out[j].start })
	merged := out[:0]
	for _, r := range out {
		if n := len(merged); n > 0 && r.start <= merged[n-1].end {
			merged[n-1].end = max(merged[n-1].end, r.end)
			continue
		}
		merged = append(merged, r)
	}
	return merged
}

const maxTag = 1024 // bytes of a tag that is read

// htmlHidden goes over the tags once.
func htmlHidden(text string) []run {
	var out []run
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '<')
		if i < 0 {
			return out
		}
		start := at + i
		if strings.HasPrefix(text[start:], "<!--") {
			end := strings.Index(text[start:], "-->")
			if end < 0 {
				return append(out, run{start, len(text)})
			}
			out = append(out, run{start + 4, start + end})
			at = start + end + 3
			continue
		}
		at = start + 1
		if at >= len(text) || classOf(text[at]) != isLetter {
			continue
		}
		end := strings.IndexAny(text[at:min(len(text), start+maxTag)], "<>") + 1
		if end < 1 || text[start+end] == '<' {
			continue
		}
		tag := text[start : start+end+1]
		at = start + end + 1
		out = append(out, proseAttributes(tag, start)...)
		if hiding(tag) {
			end := elementEnd(text, at, tagName(tag))
			out = append(out, run{at, end})
			at = end // all of it is hidden, whatever else it holds
		}
	}
}

func tagName(tag string) string {
	name := strings.TrimLeft(tag, "</")
	if i := strings.IndexAny(name, " \t\r\n/>"); i >= 0 {
		name = name[:i]
	}
	return strings.ToLower(name)
}

// hiding reports whether a tag hides what it encloses.
func hiding(tag string) bool {
	name := tagName(tag)
	switch name {
	case "template", "noscript", "noframes", "noembed":
		return true
	case "br", "img", "meta", "input", "link", "hr":
		return false
	}
	lower := strings.ToLower(tag)
	if !strings.Contains(lower, "style") && !strings.Contains(lower, "hidden") && !strings.Contains(lower, "class") && !strings.Contains(lower, "color") && !strings.Contains(lower, "size") {
		return false
	}
	flat := strings.NewReplacer(" ", "", "\t", "", "\n", "", "\r", "", "'", "", "\"", "").Replace(lower)
	for _, s := range [...]string{"display:none", "visibility:hidden", "visibility:collapse", "font-size:0", "font-size:1px", "font-size:.", "opacity:0", "color:transparent", "height:0", "width:0", "max-height:0", "left:-", "top:-", "text-indent:-", "clip:rect(0", "clip-path:inset(100%",
		"clip-path:inset(50%", "color:white", "color:#fff", "color=white", "color=#fff", "color:rgb(255,255,255", "color:rgba(255,255,255", "color:rgba(0,0,0,0", "aria-hidden=true", "mso-hide:all", "transform:scale(0", "z-index:-", "class=sr-only", "class=hidden", "visually-hidden", "class=d-none", "fontsize=0", "line-height:0"} {
		if i := strings.Index(flat, s); i >= 0 {
			rest := flat[i+len(s):]
			if (s == "opacity:0" || s == "font-size:0" || s == "height:0" || s == "width:0" || s == "max-height:0" || s == "line-height:0") && strings.HasPrefix(rest, ".") && !strings.HasPrefix(rest, ".0") {
				continue
			}
			if i > 0 && (flat[i-1] == '-' || classOf(flat[i-1])&isLetter != 0) && !strings.HasPrefix(s, "class") { // background-color, margin-left, bgcolor
				continue
			}
			if strings.HasSuffix(s, "#fff") && rest != "" && hexed.has(rest[0]) && !strings.HasPrefix(rest, "fff") {
				continue // another colour
			}
			return true
		}
	}
	return strings.Contains(lower, " hidden>") || strings.Contains(lower, " hidden ") || strings.Contains(lower, " hidden=")
}

// maxHiddenElement bounds the search for the end of a hidden element, in bytes.
const maxHiddenElement = 16 << 10

// elementEnd returns where the element that begins at offset at ends.
func elementEnd(text string, at int, name string) int {
	limit := min(len(text), at+maxHiddenElement)
	piece := strings.ToLower(text[at:limit])
	if len(piece) != limit-at {
		return limit // lower case changed the length: offsets are no longer the same
	}
	depth, i := 1, 0
	for {
		j := strings.IndexByte(piece[i:], '<')
		if j < 0 {
			return limit
		}
		i += j + 1
		if strings.HasPrefix(piece[i:], "/"+name) {
			if depth--; depth == 0 {
				return at + i - 1
			}
		} else if strings.HasPrefix(piece[i:], name) && i+len(name) < len(piece) && classOf(piece[i+len(name)])&(isLetter|isDigit) == 0 {
			depth++
		}
	}
}

// proseAttributes returns the values of attributes that hold text.
func proseAttributes(tag string, offset int) []run {
	var out []run
	lower := strings.ToLower(tag)
	if len(lower) != len(tag) {
		return nil
	}
	for _, name := range [...]string{"alt=", "title=", "content=", "aria-label=", "aria-description=", "placeholder=", "value=", "summary=", "data-", "label=", "onerror="} {
		for at := 0; ; {
			i := strings.Index(lower[at:], name)
			if i < 0 {
				break
			}
			at += i + len(name)
			if name == "data-" {
				eq := strings.IndexByte(lower[at:], '=')
				if eq < 0 {
					break
				}
				at += eq + 1
			}
			if at < len(tag) && (tag[at] == '"' || tag[at] == '\'') {
				if end := strings.IndexByte(tag[at+1:], tag[at]); end > 0 {
					out = append(out, run{offset + at + 1, offset + at + 1 + end})
					at += end
				}
			}
		}
	}
	return out
}

// markdownHidden returns comments written as link references, link titles and the descriptions of pictures.
func markdownHidden(text string) []run {
	var out []run
	for at := 0; ; {
		i := strings.Index(text[at:], "]: ")
		if i < 0 {
			break
		}
		at += i + 3
		from := max(0, at-48)
		begin := strings.LastIndexByte(text[from:at], '\n') + 1
		if (begin > 0 || from == 0) && strings.HasPrefix(strings.TrimLeft(text[from+begin:at], " "), "[") {
			out = append(out, run{at, at + indexOr(text[at:], '\n')})
		}
	}
	for at := 0; ; {
		i := strings.Index(text[at:], "](")
		if i < 0 {
			return out
		}
		start := at + i + 2
		at = start
		end := strings.IndexByte(text[start:min(len(text), start+400)], ')')
		if end < 0 {
			continue
		}
		inner := text[start : start+end]
		if q := strings.IndexAny(inner, "\"'"); q >= 0 {
			out = append(out, run{start + q, start + end})
		}
		from := max(0, start-300)
		if open := strings.LastIndexByte(text[from:start-2], '['); open > 0 && text[from+open-1] == '!' {
			out = append(out, run{from + open + 1, start - 2})
		}
	}
}

// indexOr returns the index of b in s, or its length.
func indexOr(s string, b byte) int {
	if i := strings.IndexByte(s, b); i >= 0 {
		return i
	}
	return len(s)
}
