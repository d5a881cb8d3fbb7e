// Package markdown turns a message's Markdown into safe HTML, whole or while it is still arriving.
//
// It knows GitHub's flavour (tables, strikethrough, task lists, bare links), footnotes, maths left as source for the
// page to typeset, and code highlighted with classes. It stands beside the views and knows neither them nor the core.
//
// What holds:
//
//   - Nothing a message says becomes markup of its own: raw HTML is text, every attribute is escaped, links go only to
//     http, https, mailto, tel and to places in Ash, and remote images are buttons until somebody asks for them.
//   - A message is cut into top-level blocks line by line, looking only at what came before (see cutter), and each block is
//     rendered alone. So the cuts do not depend on how the text was split on its way here, and a [Stream] that was
//     closed holds byte for byte what [Renderer.HTML] gives for the same text.
//   - Work and bytes are linear in the message. What would not be (very deep nesting, tables much wider than their
//     text, floods of delimiters) is bounded, and shown as plain text past the bound.
//   - Model markup such as <think> and <tool_call> never shows as text.
package markdown
