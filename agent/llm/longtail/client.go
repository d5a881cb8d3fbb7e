// Package longtail speaks to models through langchaingo, where that is the
// shortest honest way: at present Amazon Bedrock for people who sign in to AWS
// with a profile, single sign-on or an instance's role. (With a Bedrock API key
// the dialects openai and anthropic reach Bedrock directly and carry more.) It is
// a dialect of agent/llm.
//
// What langchaingo carries is text and images to Claude, streamed, and to Nova,
// answered whole; tools, thinking, documents and cached tokens it does not. So
// this dialect offers none of them, and refuses models of other makers, to whom
// langchaingo sends conversations without their chat template.
//
// What holds here: AWS settings and credentials are read on first use, never at
// start, and read anew after they turned out not to do; a call is one request,
// whatever the AWS settings say about retries; langchaingo runs on the caller's
// goroutine, so that breaking off closes the connection at once.
package longtail

import (
	"context"
	"errors"
	"iter"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/bedrock"

	"ash/agent"
	"ash/agent/llm"
)

// leastTemperature stands for 0, which langchaingo leaves out. It is the least Nova takes.
const leastTemperature = 1e-5

var errStopped = errors.New("the caller wants no more")

// client is one AWS account, as its settings lead to it.
type client struct {
	name    string // of the provider
	account *account
}

var _ llm.Dialect = New

// New makes a client. It touches neither the network nor the AWS settings. Errors: none.
func New(c llm.Connection) (llm.Client, error) {
	return &client{name: c.Settings.Name, account: newAccount(c)}, nil
}

// Stream implements llm.Client. Nova's answer comes as one delta.
func (c *client) Stream(ctx context.Context, info agent.ModelInfo, p agent.Prompt) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		s := stream{yield: yield, cancel: cancel}
		err := c.ask(ctx, info, p, &s)
		if err != nil && !errors.Is(err, errStopped) {
			yield(agent.Delta{}, err)
		}
	}
}

// ask makes the one request. Every error is a *llm.Fault, or errStopped.
func (c *client) ask(ctx context.Context, info agent.ModelInfo, p agent.Prompt, s *stream) error {
	maker := makerOf(info.Ref.Name)
	if maker == "" {
		return otherMaker()
	}
	messages, err := converse(maker, info, p)
	if err != nil {
		return err
	}
	aws, err := c.account.open(ctx)
	if err != nil {
		return err
	}
	model, err := bedrock.New(bedrock.WithClient(aws.runtime), bedrock.WithModelProvider(string(maker)), bedrock.WithModel(info.Ref.Name))
	if err != nil {
		return llm.NewFault(llm.FaultRequest, "the client cannot be made", err)
	}
	options := []llms.CallOption{llms.WithMaxTokens(maxTokens(info, p))}
	if p.Temperature != nil && takesTemperature(info.Ref.Name) {
		options = append(options, llms.WithTemperature(max(*p.Temperature, leastTemperature)))
	}
	if maker == anthropic {
		options = append(options, llms.WithStreamingFunc(s.piece))
	}
	answer, err := model.GenerateContent(ctx, messages, options...)
	switch {
	case s.stopped:
		return errStopped
	case err != nil:
		return c.account.explain(ctx, err)
	}
	return s.end(answer)
}

// stream passes on what langchaingo hands over.
type stream struct {
	yield   func(agent.Delta, error) bool
	cancel  context.CancelFunc
	bytes   int
	stopped bool
}

// piece is langchaingo's streaming function; it is called on the caller's goroutine, with an empty piece for
// what langchaingo cannot read.
func (s *stream) piece(_ context.Context, text []byte) error {
	// langchaingo gathers the whole answer in memory.
	if s.bytes += len(text); s.bytes > llm.MaxBody {
		return llm.NewFault(llm.FaultMalformed, "the answer is too large", nil)
	}
	return s.text(string(text))
}

func (s *stream) text(text string) error {
	if text == "" {
		return nil
	}
	return s.pass(agent.Delta{Kind: agent.DeltaText, Text: text})
}

func (s *stream) pass(d agent.Delta) error {
	if s.yield(d, nil) {
		return nil
	}
	s.stopped = true
	s.cancel() // so that nothing waits for a server that is slow to close
	return errStopped
}

// end passes on what is known once the answer is whole: its text where it was not streamed, its counts, and why it ended.
func (s *stream) end(answer *llms.ContentResponse) error {
	var usage agent.Usage
	reason := ""
	for _, choice := range answer.Choices { // Nova's content blocks
		if s.bytes == 0 {
			if err := s.text(choice.Content); err != nil {
				return err
			}
		}
		usage.Input, usage.Output = count(choice, "input_tokens"), count(choice, "output_tokens")
		reason = choice.StopReason
	}
	if usage != (agent.Usage{}) {
		if err := s.pass(agent.Delta{Kind: agent.DeltaUsage, Usage: &usage}); err != nil {
			return err
		}
	}
	if reason == "" {
		// langchaingo takes a stream that ends early for a whole one.
		return llm.NewFault(llm.FaultCut, "the stream ended before the answer did", nil)
	}
	stop, fault := stopReason(reason)
	if fault != nil {
		return fault
	}
	return s.pass(agent.Delta{Kind: agent.DeltaStop, Stop: stop})
}

func count(c *llms.ContentChoice, name string) int {
	n, ok := c.GenerationInfo[name].(int)
	if !ok {
		return 0
	}
	return max(n, 0)
}

// stopReason reads the reasons of both makers
// (https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages.html and
// https://docs.aws.amazon.com/nova/latest/userguide/complete-request-schema.html).
func stopReason(reason string) (agent.StopReason, error) {
	switch reason {
	case "max_tokens":
		return agent.StopMaxTokens, nil
	case "refusal", "content_filtered", "guardrail_intervened":
		return agent.StopRefusal, nil
	case "model_context_window_exceeded":
		return "", llm.NewFault(llm.FaultContext, "the answer filled the window", nil)
	}
	return agent.StopEnd, nil
}
