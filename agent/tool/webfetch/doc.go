// Package webfetch is the tool web_fetch: a web address as text for the model.
//
// Where a request may lead is the business of the client it is given (package
// egress); what comes back is foreign input, and this package's invariants are about that:
//
//   - Time, bytes, nodes, nesting and the size of tables are bounded before a parser with worse than linear cost sees
//     a page. The tree is built by tree.go, not by html.Parse, whose work on crafted markup is quadratic in nodes.
//   - What a browser would not show is left out; links are absolute and lead to http, https or mailto.
//   - Text is valid UTF-8 without control characters but line feeds and tabs.
//   - Every result carries an untrusted label for each host that had a part in it, failures too.
package webfetch
