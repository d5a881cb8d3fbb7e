package handlers

import (
	"fmt"
	"slices"
	"time"

	"ash/agent"
	"ash/views/components"
	"ash/views/pages"
)

// usual is what holds for a kind of effect unless the person says otherwise; "" when that depends on the call.
func usual(k agent.EffectKind) agent.Verdict {
	switch k {
	case agent.EffectAsk, agent.EffectRead, agent.EffectDelegate:
		return agent.Allow
	case agent.EffectFetch:
		return ""
	}
	return agent.Ask
}

// unless ends the sentence that explains what "allow" means where the flow rule holds (threats.md 6).
const unless = " unasked, as long as the conversation has read nothing that a stranger may have written. Else it asks and says why."

// means explains a verdict for a kind of effect.
func means(k agent.EffectKind, v agent.Verdict) string {
	switch v {
	case agent.Deny:
		return "Never runs. Ash is told that you switched it off."
	case agent.Ask:
		return "Asks each time, but for what you allowed for good."
	case "":
		return "Opens an address that you or an earlier result gave. One that Ash composed itself asks."
	}
	switch k {
	case agent.EffectAsk:
		return "Asks you whenever it needs to."
	case agent.EffectRead:
		return "Looks unasked, and only into the folders below."
	case agent.EffectDelegate:
		return "Starts helpers unasked. What they do is judged call by call."
	case agent.EffectFetch:
		return "Opens pages" + unless
	case agent.EffectExecute:
		return "Runs any command in the sandbox" + unless + " A command that wants network always asks."
	case agent.EffectSend:
		return "Sends" + unless + " What repeats something private always asks."
	case agent.EffectWrite:
		return "Changes files" + unless
	}
	return "Acts" + unless
}

// howItWent says how the newest calls of a tool went: rate, durations, chart.
func (h *Tools) howItWent(out *pages.Tool, history agent.ToolHistory) {
	out.Calls = history.Calls
	var went, well int
	var took []time.Duration
	for _, c := range history.Last {
		switch c.State {
		case agent.CallFinished:
			well++
			went++
		case agent.CallFailed, agent.CallUnknown:
			went++
		}
		if d := ran(c); d > 0 && c.State != agent.CallStopped {
			took = append(took, d)
		}
	}
	if went >= fewestRuns {
		out.Success = fmt.Sprintf("%d %%", (100*well+went/2)/went)
	}
	slices.Sort(took)
	if n := len(took); n > 0 {
		out.Median = components.Seconds(took[n/2])
		if n >= 20 {
			out.Slow = components.Seconds(took[n*19/20])
		}
	}
	shown := history.Last[:min(len(history.Last), chartRuns)]
	for _, c := range slices.Backward(shown) {
		out.Chart.Bars = append(out.Chart.Bars, components.Bar{State: c.State, Duration: ran(c)})
	}
	out.Chart.Label = fmt.Sprintf("The last %s: %d went well, %d did not.", components.Plural(len(shown), "call", "calls"), count(shown, true), count(shown, false))
}

// ran is how long a call took, 0 for one that never ran to an end.
func ran(c agent.ToolCall) time.Duration {
	if c.Started.IsZero() || c.Finished.IsZero() {
		return 0
	}
	return max(c.Finished.Sub(c.Started), time.Microsecond)
}

func count(calls []agent.ToolCall, well bool) int {
	n := 0
	for _, c := range calls {
		if well && c.State == agent.CallFinished || !well && (c.State == agent.CallFailed || c.State == agent.CallUnknown) {
			n++
		}
	}
	return n
}
