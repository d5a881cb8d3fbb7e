// Package handlers answers requests: one resource per file, each handler the
// same short story — load, check, render. A handler reads the request, calls
// the core or the store through the small interfaces declared beside it, and
// renders a page or the fragment that htmx asked for. It returns errors; web
// turns them into responses.
//
// What holds here:
//
//   - Generation never happens inside a request. Posting a message stores it and
//     answers with the person's bubble; the reply comes over the event stream.
//   - Without the header HX-Request everything that changes something answers
//     with 303 to a page, so that forms work without JavaScript. A history
//     restore gets the whole page.
//   - Present makes the views' structs, for pages and stream alike: what streams
//     in looks the same after a reload.
//   - Text from a form is checked (UTF-8) and cleaned (NUL, line ends) before the
//     core sees it. An id that cannot exist and one that does not are both 404.
package handlers
