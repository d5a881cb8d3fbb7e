package anthropic

import (
	"strconv"
	"strings"
)

// level says how hard a model is asked to think: "" leaves it to the vendor.
type level string

const (
	levelDefault level = ""
	levelOff     level = "off"
	levelLow     level = "low"
	levelMedium  level = "medium"
	levelHigh    level = "high"
)

const minBudget = 1024 // tokens; the API's own lower bound

// budgets are the tokens a model that counts them may think for.
func (l level) budget() int {
	switch l {
	case levelLow:
		return 2048
	case levelMedium:
		return 8192
	}
	return 16384
}

// version is a model's generation as its name tells: claude-opus-4-7 is {4, 7},
// claude-3-5-haiku-20241022 is {3, 5}, us.anthropic.claude-sonnet-4-5-20250929-v1:0 is {4, 5}. A name that tells none is the zero version.
type version struct{ major, minor int }

func (v version) atLeast(major, minor int) bool { //nolint:unparam // a version is compared as a whole
	return v.major > major || v.major == major && v.minor >= minor
}

func versionOf(name string) version {
	if strings.Contains(name, "claude-mythos-preview") {
		return version{4, 7} // named without a number, behaves like its generation
	}
	var v version
	seen := 0
	for part := range strings.SplitSeq(name, "-") {
		n, err := strconv.Atoi(part)
		if err != nil || len(part) > 2 || seen == 2 { // dates have eight digits
			continue
		}
		if seen == 0 {
			v.major = n
		} else {
			v.minor = n
		}
		seen++
	}
	return v
}

// applyThinking asks for thinking in the form the model takes, and leaves out the settings it
// refuses: from 4.6 on a model decides itself how long it thinks ("adaptive") and takes an effort, before that it
// takes a budget; from 4.7 on it refuses a temperature, and any model refuses one beside thinking
// (https://platform.claude.com/docs/en/build-with-claude/thinking).
func applyThinking(r *request, l level, ds []*draft) {
	v := versionOf(r.Model)
	if v.atLeast(4, 7) {
		r.Temperature = nil
	}
	switch {
	case l == levelDefault:
		return
	case l == levelOff:
		if v.atLeast(4, 6) {
			r.Thinking = &thinking{Type: "disabled"}
		}
		return
	case v.atLeast(4, 6):
		r.Thinking = &thinking{Type: "adaptive"}
		if v.atLeast(4, 7) {
			r.Thinking.Display = "summarized" // these hide it unless asked
		}
		r.OutputConfig = &outputConfig{Effort: string(l)}
	default:
		budget := min(l.budget(), r.MaxTokens/2)
		if budget < minBudget || !beginsThinking(ds) {
			return
		}
		r.Thinking = &thinking{Type: "enabled", BudgetTokens: budget}
	}
	r.Temperature = nil
}

// beginsThinking reports whether the tool round under way, if there is one, began with thinking. A
// model that counts a budget refuses to take up a round that did not, as after a fallback from another provider.
func beginsThinking(ds []*draft) bool {
	for i := len(ds) - 1; i > 0; i-- {
		if ds[i].role != "user" || len(ds[i].blocks) == 0 || ds[i].blocks[0].Type != "tool_result" {
			return true
		}
		if t := ds[i-1].blocks[0].Type; t != "thinking" && t != "redacted_thinking" {
			return false
		}
		i--
	}
	return true
}
