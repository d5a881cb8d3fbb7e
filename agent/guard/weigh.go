package guard

import "slices"

// Thresholds of the score from which a text is flagged.
const (
	flagTool    = .54
	flagMessage = .7
	flagMemory  = .5
)

// weigh adds up the signals in every window of words and keeps the best, and reports what fired.
func (s *scanner) weigh(p *page, signals []signal, from *blob) {
	if len(signals) == 0 {
		return
	}
	p.prepare()
	for i := range signals {
		x := &signals[i]
		x.hidden = p.isHidden(*x)
		x.place = p.context(*x, from != nil)
		if from != nil && from.outer != nil {
			x.place *= from.outer()
		}
	}
	best, bestAt := 0.0, 0
	for i := range signals {
		if score := s.windowScore(p, signals, i, from); score > best {
			best, bestAt = score, i
		}
	}
	s.score = max(s.score, best)
	if len(s.findings) < maxFindings {
		s.note(p, signals, bestAt, best, from)
	}
}

// windowScore weighs the signals from signals[i] on that stand within a window.
func (s *scanner) windowScore(p *page, signals []signal, i int, from *blob) float64 {
	reach := int32(window)
	if unspacedAt(p.text, int(p.tokens[signals[i].from].start)) {
		reach *= 2
	}
	var byFamily [12]struct {
		name  string
		first float64
		rest  float64
	}
	families := 0
	top, factor := 0.0, 0.0
	hidden := false
	for _, x := range signals[i:] {
		if x.from > signals[i].from+reach {
			break
		}
		w := x.weight * s.channelFactor(x.rule) * x.place
		hidden = hidden || x.hidden
		factor = max(factor, x.place)
		top = max(top, w)
		k := 0
		for k < families && byFamily[k].name != x.rule.family {
			k++
		}
		if k == len(byFamily) {
			continue
		}
		if k == families {
			families++
			byFamily[k].name = x.rule.family
		}
		if f := &byFamily[k]; w > f.first {
			f.rest, f.first = max(f.rest, f.first), w
		} else {
			f.rest = max(f.rest, w)
		}
	}
	rest := 1.0
	for _, f := range byFamily[:families] {
		rest *= (1 - f.first) * (1 - f.rest*.6)
	}
	if base := 1 - rest; from != nil && base >= .25 {
		rest *= 1 - .45*factor
		top = max(top, .4)
	} else if hidden && base >= .32 {
		rest *= 1 - .42*factor
		top = max(top, .4)
	}
	score := 1 - rest
	if top < .34 && families < 3 {
		score *= .8 // many weak reasons of one kind are habit, not intent
	}
	return score
}

// channelFactor lowers what is normal on a channel: a person may give the assistant roles, tasks and orders.
func (s *scanner) channelFactor(r *rule) float64 {
	if s.channel != Message {
		return 1
	}
	switch r.family {
	case famOverride:
		if r.name == "override" || r.name == "override-phrase" {
			return 1
		}
		return .5
	case famHidden, famEncoded:
		return 1
	case famFence:
		return .8
	}
	return .4
}

func (s *scanner) threshold() float64 {
	switch s.channel {
	case Message:
		return flagMessage
	case Memory:
		return flagMemory
	}
	return flagTool
}

// report closes a Scan.
func (s *scanner) report(size int) Report {
	r := Report{Score: min(s.score, 1), Findings: s.findings}
	r.Flagged = r.Score >= s.threshold()
	for i := range r.Findings {
		f := &r.Findings[i]
		f.Start = max(0, min(f.Start, size-1))
		f.End = max(f.Start+1, min(f.End, size))
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return a.Start - b.Start })
	return r
}

// note adds findings for the signals of the best window.
func (s *scanner) note(p *page, signals []signal, at int, score float64, from *blob) {
	if score < .3 {
		return
	}
	last := signals[at].from + window*2
	hidden := false
	start, end := len(p.text), 0
	seen := map[string]bool{}
	for _, x := range signals[at:] {
		if x.from > last || len(s.findings) >= maxFindings {
			break
		}
		a, b := int(p.tokens[x.from].start), int(p.tokens[x.to-1].end)
		start, end = min(start, a), max(end, b)
		hidden = hidden || x.hidden
		if seen[x.rule.name] {
			continue
		}
		seen[x.rule.name] = true
		if from != nil {
			a, b = from.start, from.end
		}
		s.findings = append(s.findings, Finding{Rule: x.rule.name, Family: x.rule.family, Start: a, End: b, Score: min(x.weight, 1), Why: x.rule.why})
	}
	switch {
	case from != nil:
		s.findings = append(s.findings, Finding{Rule: from.rule, Family: famEncoded, Start: from.start, End: from.end, Score: score, Why: from.why})
	case hidden:
		s.findings = append(s.findings, Finding{Rule: "hidden", Family: famHidden, Start: start, End: end, Score: score, Why: "It stands where a reader does not see it."})
	}
}
