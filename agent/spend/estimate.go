package spend

import (
	"ash/agent"
)

const (
	// share of what is left that one answer may set aside when its model's own limit is longer: several are under way at once.
	share = 4
	// comfort is the answer that is set aside all the same while it is affordable, in tokens.
	comfort = 8192
	// floor is the shortest limit worth asking with, in tokens.
	floor = 1024
	// unknownOutput is what a model may say at the most whose limit is not known, in tokens. It is not asked for, only set aside.
	unknownOutput = 32_768
	// margin covers what estimates of tokens miss, in percent.
	margin = 110
	// endless is how many bytes a token has at the most, over a whole answer: what is longer than its limit allows is broken off.
	endless = 6
	// thinkingSpeed is how fast a model may think unseen, in tokens a second.
	thinkingSpeed = 100
)

// AssumedEmbedding is what embedding models cost whose price is not known, in micro-dollars per million tokens: more than any well-known one.
const AssumedEmbedding agent.MicroDollars = 200_000

// plan is what a call may take, before it is known what may be spent.
type plan struct {
	input   int // tokens
	want    int // of output, at the most
	assumed bool
	price   agent.Price
	in      agent.MicroDollars // what the input may cost
}

// planOf estimates a call from its prompt and what is known of the model.
func planOf(p agent.Prompt, info agent.ModelInfo, tokens int, s Settings) plan {
	out := plan{price: info.Price, input: tokens * margin / 100, want: p.MaxTokens}
	if info.Price == (agent.Price{}) {
		out.assumed = true
		out.price = agent.Price{Input: s.UnknownInput, Output: s.UnknownOutput, CacheRead: s.UnknownInput, CacheWrite: s.UnknownInput}
	}
	if limit := info.MaxOutput; limit > 0 && (out.want <= 0 || out.want > limit) {
		out.want = limit
	}
	if out.want <= 0 {
		out.want = unknownOutput
	}
	rate := out.price.Input
	for _, m := range p.Messages {
		if m.Cache { // what is read from the cache is cheaper, what is written to it dearer: the dearer counts
			rate = max(rate, out.price.CacheWrite)
			break
		}
	}
	out.in = costOf(out.input, rate)
	return out
}

// costOf is what tokens cost, rounded up.
func costOf(tokens int, rate agent.MicroDollars) agent.MicroDollars {
	return agent.MicroDollars((int64(tokens)*int64(rate) + 999_999) / 1_000_000)
}

// whole is what the call costs with an answer of n tokens.
func (p plan) whole(n int) agent.MicroDollars { return p.in + costOf(n, p.price.Output) }

// room is how many tokens of an answer an amount pays for.
func (p plan) room(left agent.MicroDollars) int {
	if left <= 0 {
		return 0
	}
	if p.price.Output <= 0 {
		return p.want
	}
	return int(min(int64(left)*1_000_000/int64(p.price.Output), int64(p.want)))
}

// fit decides how long the answer may be, given the tightest cap: nil for none. limit is p.want when nothing is to be shrunk.
func (p plan) fit(tight *Allowance) (limit int, refused *Refusal) {
	if tight == nil {
		return p.want, nil
	}
	left := tight.Left()
	least := p.whole(min(p.want, floor))
	if least > left || left <= 0 && least == 0 {
		return 0, &Refusal{Allowance: *tight, Needs: least}
	}
	forAnswer := left - p.in
	usual := max(p.room(forAnswer/share), min(p.want, comfort))
	return min(usual, p.room(forAnswer), p.want), nil
}

// tightest returns the cap with the least left of those that hold for a call; nil when none does.
func tightest(list []Allowance) *Allowance {
	var out *Allowance
	for i, a := range list {
		if a.Limit > 0 && (out == nil || a.Left() < out.Left()) {
			out = &list[i]
		}
	}
	return out
}
