package components

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"ash/agent"
)

// Memory is one thing remembered, as a card of a list: a fact, a message, an episode or a note.
type Memory struct {
	Fact    agent.ID // of a fact; "" for other kinds, which cannot be changed here
	URL     string   // where all of it is
	Text    []agent.SnippetPart
	Word    string // what it is: "Fact", "About me", "Message"
	When    string // "since May 2026", "3 May 2026"
	About   []About
	From    string // where it is from: "you said it in “Cabin weekend”"
	FromURL string // "" when there is nowhere to go
	Why     []string
	Sources []string // strangers that may have written it
	Private bool
	Past    string // why it no longer holds: "replaced in May 2026"; "" while it does
	Until   string // "not recalled after 3 May 2027"; "" without an end
	Pinned  bool
	Forget  string // where what is no fact can be forgotten; "" when it cannot
	Back    string // the page that pinning leads back to
	CSRF    string
}

// About is somebody or something that a memory is about.
type About struct {
	ID   agent.ID
	Name string
}

// URL is the page of all that is known of it.
func (a About) URL() string { return EntityPath(a.ID) }

// EntityPath is the page of an entity.
func EntityPath(id agent.ID) string { return "/memory/entities/" + string(id) }

// FactPath is the page of a fact.
func FactPath(id agent.ID) string { return "/memory/facts/" + string(id) }

// joined lists why something was found.
func joined(why []string) string {
	said := make([]string, len(why))
	for i, w := range why {
		said[i] = strings.TrimPrefix(w, "words: ")
		if around, ok := strings.CutPrefix(w, "said around it: "); ok {
			said[i] = around + ", said around it"
		}
	}
	return strings.Join(said, " + ")
}

// forget is where it can be forgotten.
func (m Memory) forget() string {
	if m.Fact != "" {
		return "/memory/forget?fact=" + string(m.Fact)
	}
	return m.Forget
}

func (m Memory) plain() string { return Unmarked(m.Text) }

// Unmarked is a text without its marks.
func Unmarked(parts []agent.SnippetPart) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// Proposal is a change of memory that waits for the person.
type Proposal struct {
	ID       agent.ID
	Retire   bool // it would end a fact rather than keep one
	Text     string
	Kind     agent.FactKind
	Replaces []string // what it would take the place of
	Why      string
	Quote    string
	From     string // "from “Lisbon in March”"
	FromURL  string
	Since    string // "proposed 3 minutes ago"
	Sources  []string
	At       int64 // when it was proposed, for its place in the inbox
	Place    Place // PlaceInbox, or "" for the Memory page
	CSRF     string
}

// ID of the element of a proposal.
func (p Proposal) element() string { return ProposalID(p.ID) }

// ProposalID is the element of a proposal.
func ProposalID(id agent.ID) string { return "p-" + Short(id) }

func (p Proposal) order() string { return strconv.FormatInt(p.At, 10) }

func (p Proposal) path() string { return "/memory/proposals/" + string(p.ID) }

// Graph is who and what an entity is linked with, drawn around it.
type Graph struct {
	Centre string
	Nodes  []GraphNode // at most MaxGraphNodes
	Ties   []GraphTie  // between nodes, by their places in Nodes
}

// GraphNode is a neighbour; Weight is the facts that mention both.
type GraphNode struct {
	About
	Kind   agent.EntityKind
	Weight int
}

// GraphTie joins two neighbours.
type GraphTie struct{ A, B, Weight int }

// MaxGraphNodes is how many neighbours a graph can show.
const MaxGraphNodes = 10

// The graph's measures, in its own units.
const (
	graphWidth  = 420
	graphHeight = 276
	graphX      = 158
	graphY      = 112
	graphMiddle = 130
	graphLabel  = 13 // characters
)

func graphBox() string { return fmt.Sprintf("0 0 %d %d", graphWidth, graphHeight) }

// place returns where node i is drawn.
func (g Graph) place(i int) (x, y float64) {
	angle := 2*math.Pi*(float64(i)+0.5)/float64(max(len(g.Nodes), 1)) - math.Pi/2
	return graphWidth/2 + graphX*math.Cos(angle), graphMiddle + graphY*math.Sin(angle)
}

// stroke is a line of the graph as it is drawn.
type stroke struct{ x1, y1, x2, y2, width, class string }

func (g Graph) strokes() []stroke {
	var out []stroke
	line := func(x1, y1, x2, y2 float64, weight int, class string) {
		out = append(out, stroke{unit(x1), unit(y1), unit(x2), unit(y2), unit(1 + math.Min(math.Log2(float64(max(weight, 1))), 4)), class})
	}
	for _, t := range g.Ties {
		if t.A >= 0 && t.B >= 0 && t.A < len(g.Nodes) && t.B < len(g.Nodes) {
			x1, y1 := g.place(t.A)
			x2, y2 := g.place(t.B)
			line(x1, y1, x2, y2, t.Weight, "tie")
		}
	}
	for i, n := range g.Nodes {
		x, y := g.place(i)
		line(graphWidth/2, graphMiddle, x, y, n.Weight, "tie near")
	}
	return out
}

// dot is a node as it is drawn.
type dot struct{ x, y, textY, label, class string }

func (g Graph) dot(i int) dot {
	x, y := g.place(i)
	return dot{unit(x), unit(y), unit(y + 24), clipRunes(g.Nodes[i].Name, graphLabel), "dot " + string(g.Nodes[i].Kind)}
}

func (g Graph) centre() dot {
	return dot{unit(graphWidth / 2), unit(graphMiddle), unit(graphMiddle + 30), clipRunes(g.Centre, graphLabel+5), "dot centre"}
}

func (g Graph) label() string {
	return g.Centre + " and " + Plural(len(g.Nodes), "link", "links") + ". The list below says the same."
}

func unit(f float64) string { return strconv.FormatFloat(math.Round(f*10)/10, 'f', -1, 64) }

func clipRunes(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return strings.TrimRight(string(r[:n-1]), " ") + "…"
}
