// Package web is the Echo server: the one route table, the middleware every
// request passes, the one table from error to status, and the order in which
// things stop.
//
// What holds for every request (threats.md 1, 4 and 15):
//
//   - There is no sign-in yet, so being let in means: the peer's address is a
//     loopback one, the Host header is a loopback name, and no header of a
//     proxy or of Tailscale is present. Everybody else is refused and told why.
//     CheckListen refuses to open a network listener at all. The session (a
//     signed cookie) is the seam where sign-in comes in.
//   - A request that changes something must come from a page of ours: its
//     Origin is this host, Sec-Fetch-Site does not say otherwise, and it bears
//     the CSRF token of its session.
//   - The API below /api/v1 is the one exemption: its operations need a token in
//     the header Authorization, which no browser sends by itself, and know neither
//     session nor CSRF token. The token opens nothing else, and a cookie nothing
//     there. Who may come in at all, foreign origins included, is as everywhere.
//   - Bodies, headers and times are bounded. Only streams may stay open; they
//     end before the server waits for the rest.
//   - The unix socket in the home is the command line's: its file permission
//     is what lets somebody in, so it has no Host, session or token. What the
//     socket serves is not served over TCP.
//
// Package web knows no template and no store; handlers render.
package web
