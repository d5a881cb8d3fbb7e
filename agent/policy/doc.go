// Package policy says which calls may run: allow, ask or deny, and where data may
// flow (threats.md 5 to 7 and 10; docs/adr/0010). It implements the Policy and
// the Provenance of package tool.
//
// # Verdicts
//
// A call is judged by the kind of its effect. Looking is allowed, everything that
// changes, runs or sends is asked about. Standing rules change that: a switch for a
// whole tool, or a narrow rule for one command, folder or host. A rule that
// denies beats every other; a conversation's rule beats one of the whole house; the
// narrower rule beats the wider.
//
// What the person said is kept unasked: an effect that remembers names all that it would write (Effect.Keeps), and where every word of
// it stands in one line of the message that this turn answers, in the same sense, it is allowed (Effect.Told). A message that is long or
// holds quotations, code or planted orders may be somebody else's, as far as these go. Forgetting, notes, and changes of what is pinned
// name nothing and always ask, whatever a rule says.
//
// # The flow rule
//
// While anything untrusted stands in the prompt, no rule lets an effect pass that runs,
// sends, writes files or remembers, nor the fetch of a URL that the model composed. Only a
// grant does: a rule for a folder, a host or "reading the web", given in this conversation
// in view of the same kinds of source (Kind). Nothing at all covers a send whose payload, decoded,
// repeats private text, or cannot be read: it asks each time.
//
// # Rules in writing
//
// Rule.Match is one of
//
//	(empty)               the whole tool
//	run git status        one simple command of exactly these words, without network
//	run git log …         one simple command that begins with these words
//	folder "/abs/folder"  changes to files below a folder, hidden ones excepted
//	host example.org      requests to exactly this host
//	web                   reading the web: search words and URLs of the model's own, at any host
//
// # Sources in writing
//
// Label.Source says what kind of source content came from, by its beginning: "file:notes/a.md",
// "files in …", "search:…", "mail:…", "attachment:…", "network: host" (of a command), "tool:…"; a bare host name is a web page.
// Whatever is written otherwise is a kind of its own.
//
// Invariants: Judge reads no file's contents and reaches no network; it changes nothing but counts of
// use and the security log, and those only when a call is judged for the first time. The log bears sources,
// rules and ids, never text. When anything cannot be checked, the person is asked.
package policy
