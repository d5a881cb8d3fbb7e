package components

import (
	"math"
	"strconv"
	"time"

	"ash/agent"
)

// Run is one call in a history of runs.
type Run struct {
	ID       agent.ID
	Tool     string
	Kind     agent.EffectKind
	Title    string // what it did, for people
	What     string // the payload or target, one line
	State    agent.CallState
	Question bool
	Findings bool // its result tried to give orders
	When     time.Time
	Duration time.Duration // 0 when it never ran
	Exit     *int
	Thread   agent.ID
	Heading  string // of the conversation; "" leaves it out
}

func (r Run) call() Call {
	return Call{Name: r.Tool, Kind: r.Kind, Title: r.Title, State: r.State, Question: r.Question}
}

// Bar is one run in the chart of a tool: how long it took, and how it went.
type Bar struct {
	State    agent.CallState
	Duration time.Duration
}

// The chart's measures, in its own units.
const (
	barWidth    = 5
	barStep     = 7
	chartHeight = 36
	barLeast    = 3 // so that the shortest run is still seen
)

// Chart is the newest runs of a tool, the oldest first.
type Chart struct {
	Bars  []Bar
	Label string // what it shows, for those who do not see it
}

func (c Chart) box() string {
	return "0 0 " + strconv.Itoa(max(len(c.Bars)*barStep-barStep+barWidth, 1)) + " " + strconv.Itoa(chartHeight)
}

func (c Chart) width() string { return strconv.Itoa(max(len(c.Bars)*barStep-barStep+barWidth, 1)) }

func (c Chart) height() string { return strconv.Itoa(chartHeight) }

// rectangle is a bar as it is drawn. Heights grow with the logarithm of the duration: one slow run must not
// make all others look alike.
type rectangle struct{ x, y, height, class string }

func (c Chart) rectangles() []rectangle {
	longest := time.Duration(0)
	for _, b := range c.Bars {
		longest = max(longest, b.Duration)
	}
	out := make([]rectangle, 0, len(c.Bars))
	for i, b := range c.Bars {
		h := barLeast
		if longest > 0 && b.Duration > 0 {
			h = max(barLeast, int(math.Round(chartHeight*math.Log1p(b.Duration.Seconds()*20)/math.Log1p(longest.Seconds()*20))))
		}
		out = append(out, rectangle{strconv.Itoa(i * barStep), strconv.Itoa(chartHeight - h), strconv.Itoa(h), barClass(b.State)})
	}
	return out
}

func barClass(s agent.CallState) string {
	switch s {
	case agent.CallFinished:
		return "ok"
	case agent.CallFailed, agent.CallUnknown:
		return "bad"
	}
	return "not"
}
