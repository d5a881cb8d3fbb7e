// Package web is the Echo server: the one route table, the middleware every
// request passes, the one table from error to status, and the order in which
// things stop.
//
// What holds for every request (threats.md 1, 4 and 15):
//
//   - One gate stands before all routes and before what is none. It lets in the browser of this machine itself (loopback peer, loopback
//     Host, no header of a proxy or of Tailscale), devices with a session, and who tailscale serve names where that is switched on.
//     Everybody else reaches health, embedded files, sign-in and pairing, and is told nothing of the rest, not even whether it exists.
//     The session is a cookie that names it; what it is lies behind Doors and is looked up with each request.
//   - A Host that is not this machine's is refused, whoever asks.
//   - Streams end when their reader may no longer come in: the device is signed out, the settings changed, its door was closed.
//   - Listeners beyond loopback take somebody who could sign in (CheckListen); doors to the network open and close while the server runs.
//   - A request that changes something must come from a page of ours: its
//     Origin is this host, Sec-Fetch-Site does not say otherwise, and it bears
//     the CSRF token of its session, in a form.
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
