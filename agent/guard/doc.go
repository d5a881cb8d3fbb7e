// Package guard reads what strangers wrote and what is about to be kept: Scan looks for instructions that were
// planted for the assistant in data (pages, files, mail, tool results, memories), Redact takes secrets out of text.
//
// Scan is layered. The reader folds what the eye does not tell apart (compatibility forms, homoglyphs, invisible
// characters, leetspeak, escapes) into plain words, each with its span in the original. A lexicon of phrases in
// some twenty languages turns words into concepts; rules are combinations of concepts close together; the rules
// found near each other are weighed together with where they stand (hidden, decoded, quoted, talked about).
// Blobs (base64, hex, rot13, reversed, spaced out, tag characters) are decoded and read the same way.
//
// Redact puts marks such as [secret: anthropic-key] in the place of exact values (the vault's, also base64 and
// URL-encoded), keys of known vendors, what gitleaks knows, name = "key" assignments, and the way people say
// secrets in a conversation.
//
// Invariants:
//
//   - Any input, valid UTF-8 or not, is read in time linear in its length; nothing panics. Spans are byte offsets in
//     the text that was given, 0 <= Start < End <= len(text).
//   - Scan never changes text. A report is advice for people and a reason for labels, never the only wall (threats.md 6).
//   - Redact is deterministic and idempotent: marks are never read as secrets, nor as a part of one.
//   - Text without a cue costs microseconds: gitleaks' rules (about 2 ms, 0.5 MB; see leakrules.go) are read when a text first needs
//     them, and each is compiled when its keyword is first met.
//   - Neither texts nor secrets are logged.
package guard
