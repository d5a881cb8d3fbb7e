// Package prompt builds what is sent to a model: the stable part first (identity,
// house rules, core memory), then the tools, then the history, and what
// changes per turn last. It implements agent.Prompter and is stateless: the same
// conversation gives the same prompt, also after a restart.
//
// Invariants:
//
//   - Provider caches hit. A message is rendered from what is stored of it alone, so that the prompt of
//     one turn is a prefix of the next; what changes per turn (recalled items, the clock) stands at
//     the end of the newest message of the person. History that does not fit is left out in big steps (see fit).
//   - Every ToolUse is followed by a message that holds exactly the results of its calls. A reply with
//     calls and its results are kept or left out together. Calls that never ran say so.
//   - Roles alternate, except that a message of the person may follow a message of tool results. The first and the last message are the user's.
//     No message and no text is empty.
//   - What is not the person's word stands in a fence that names its source and whose
//     boundary a stranger cannot guess; look-alikes inside are defused.
//   - Only the model that produced a thinking block gets it back, unchanged, and only within a tool round.
//
// Labels of everything in the prompt come back with it; policy decides by them.
package prompt
