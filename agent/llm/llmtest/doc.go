// Package llmtest has model servers for tests: real HTTP servers that speak the
// vendors' wire formats as documented, answer from a script, record the exact
// bytes of every request, and fail in all the ways real ones do.
//
// A Server is a Format (the wire) plus a script of Replies. In a test,
// OpenAI(t, script...) starts one on a loopback port; outside of tests, New(…)
// gives a Server whose Handler any HTTP server can mount, for example one that streams N
// tokens at R tokens a second to a browser test.
//
// When the script is used up, the last reply is given again if it is marked
// Repeat; otherwise the server answers 500 and says so, which fails the test that did not
// expect another request.
package llmtest
