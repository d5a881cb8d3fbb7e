// Package llm is how Ash reaches language models. It holds what all providers
// share: their settings and keys, the faults that are told apart, readers for
// streamed bodies, the filter that keeps model markup out of the text, the
// catalog of models, and the chain that retries and falls back.
//
// Each wire format is a Dialect in a folder of its own (openai, anthropic,
// ollama, offline, …) that imports this package; this package imports none of
// them, cmd/ash passes them in. A dialect's client makes one request per Stream
// (a second one only to leave out an option the server refuses) and reports a
// failure as a *Fault; everything about trying again (timeouts for the first
// token and for stalls, backoff, fallback, cost) is the chain's alone.
//
// What holds here:
//   - An error that leaves the package is an *agent.Error whose public text says
//     what to do, around a *Fault. Neither bears a key-shaped string.
//   - Nothing read from a server is unbounded: lines, events, bodies, excerpts.
//   - Once a token has been passed on, nothing is tried again.
//   - Breaking off or cancelling closes the connection before Stream returns; no
//     goroutine outlives the call.
package llm
