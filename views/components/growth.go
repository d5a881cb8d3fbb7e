package components

import (
	"fmt"
	"math"
	"strings"
	"time"

	"ash/agent"
)

// Growth is how amounts of several kinds stood one step of time after the other, drawn one kind upon the other, with what each step
// brought and ended below.
type Growth struct {
	Title string   // what it shows, for those who hear it
	Kinds []string // at most MaxGrowthKinds, the lowest first
	Steps []GrowthStep
	Moves bool // Learned and Ended are drawn
	Label string
	Size  bool // amounts are bytes
	Money bool // amounts are micro-dollars
}

// MaxGrowthKinds is how many kinds a chart can tell apart.
const MaxGrowthKinds = 4

// GrowthStep is one step of a chart.
type GrowthStep struct {
	Begins  time.Time
	Amounts []int64 // as long as Kinds
	Learned int
	Ended   int
}

// The chart's measures, in its own units.
const (
	growthWidth  = 640
	growthHeight = 150
	growthBars   = 40 // the lower part, of what each step brought
	growthRoom   = 12 // above the highest
)

func growthBox() string { return fmt.Sprintf("0 0 %d %d", growthWidth, growthHeight) }

func (s GrowthStep) sum() int64 {
	var n int64
	for _, a := range s.Amounts {
		n += a
	}
	return n
}

// most is the highest that anything stood, and the most that one step brought or ended.
func (g Growth) most() (held int64, moved int) {
	for _, s := range g.Steps {
		held, moved = max(held, s.sum()), max(moved, s.Learned, s.Ended)
	}
	return max(held, 1), max(moved, 1)
}

// ground is where amounts stand.
func (g Growth) ground() float64 {
	if g.Moves {
		return growthHeight - growthBars - 8
	}
	return growthHeight
}

func (g Growth) step() float64 { return growthWidth / float64(max(len(g.Steps), 1)) }

// band is the area of one kind as it is drawn.
type band struct{ path, class string }

// bands are the areas of all kinds, each upon the one before.
func (g Growth) bands() []band {
	most, _ := g.most()
	var out []band
	for k := range g.Kinds {
		var path strings.Builder
		edge := func(from, to float64, height int64) {
			mark := "L"
			if path.Len() == 0 {
				mark = "M"
			}
			y := g.level(height, most)
			fmt.Fprintf(&path, "%s%s %sL%s %s", mark, unit(from*g.step()), y, unit(to*g.step()), y)
		}
		for i := range g.Steps {
			edge(float64(i), float64(i+1), g.below(i, k+1))
		}
		for i := len(g.Steps) - 1; i >= 0; i-- { // the way back
			edge(float64(i+1), float64(i), g.below(i, k))
		}
		if path.Len() > 0 {
			out = append(out, band{path.String() + "Z", growthClass(k)})
		}
	}
	return out
}

// below is what stands under kind k at step i.
func (g Growth) below(i, k int) int64 {
	var n int64
	for _, a := range g.Steps[i].Amounts[:k] {
		n += a
	}
	return n
}

func (g Growth) level(n, most int64) string {
	return unit(g.ground() - (g.ground()-growthRoom)*float64(n)/float64(most))
}

func growthClass(k int) string { return fmt.Sprintf("band-%d", k) }

// bars are what each step brought and ended.
func (g Growth) bars() []rectangle {
	if !g.Moves {
		return nil
	}
	_, most := g.most()
	var out []rectangle
	for i, s := range g.Steps {
		for j, n := range []int{s.Learned, s.Ended} {
			if n == 0 {
				continue
			}
			h := math.Max(float64(barLeast), growthBars*float64(n)/float64(most))
			out = append(out, rectangle{
				x: unit(float64(i)*g.step() + float64(j)*(g.bar()+.5)), y: unit(growthHeight - h), height: unit(h), class: []string{"new", "end"}[j],
			})
		}
	}
	return out
}

func (g Growth) bar() float64 { return math.Max(g.step()/2-1, 1) }

func (g Growth) barWidth() string { return unit(g.bar()) }

// top is how much the highest place of the chart stands for.
func (g Growth) top() string {
	most, _ := g.most()
	return g.amount(most)
}

func (g Growth) amount(n int64) string {
	switch {
	case g.Size:
		return Bytes(n)
	case g.Money:
		return Money(agent.MicroDollars(n))
	}
	return Count(int(n))
}

// ticks are the times written below the chart, from left to right.
func (g Growth) ticks() []string {
	if len(g.Steps) == 0 {
		return nil
	}
	form := "Jan 2006"
	first, last := g.Steps[0].Begins, g.Steps[len(g.Steps)-1].Begins
	if last.Sub(first) < 120*24*time.Hour {
		form = "2 Jan"
	}
	n := min(len(g.Steps), 5)
	out := make([]string, 0, n)
	for i := range n {
		at := i * (len(g.Steps) - 1) / max(n-1, 1)
		out = append(out, g.Steps[at].Begins.Format(form))
	}
	return out
}

// rows are the steps for the table, the newest first: those at which something changed, and the first.
func (g Growth) rows() []GrowthStep {
	var out []GrowthStep
	for i := len(g.Steps) - 1; i >= 0; i-- {
		s := g.Steps[i]
		if i == 0 || i == len(g.Steps)-1 || s.Learned+s.Ended > 0 || fmt.Sprint(s.Amounts) != fmt.Sprint(g.Steps[i-1].Amounts) {
			out = append(out, s)
		}
	}
	return out
}
