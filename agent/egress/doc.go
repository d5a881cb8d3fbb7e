// Package egress is the one place where Ash's requests to addresses that it did
// not choose itself are checked (threats.md 10): pages a model wants to read,
// results of a search, redirects, and what a command in the sandbox reaches when it was granted the network.
//
// Invariants:
//
//   - The resolved address is judged, not the name, and it is the judged address that is dialled: a name
//     is looked up once, every address it has is looked at, and one that is not public refuses the name. The
//     address is judged a second time in the moment before connect(2). A resolver that changes its mind changes nothing.
//   - Public is what is left after everything the IANA special-purpose registries, the
//     cloud vendors' metadata services, and this machine's own addresses and IPv6 networks take away.
//   - Endpoints the person configured are let through by exact host and port, for the Guarded that was told of
//     them alone. A redirect does not reach them, nor does a Passage. Pages are fetched with a Guarded that allows none.
//   - Nothing is read from the environment: no proxy, no cookie jar, no netrc.
//   - Every refusal is an agent.Error that names the host and says why; refused hosts have CodeDenied,
//     unreachable ones CodeUnavailable, and answers beyond a bound CodeExhausted.
//
// Guarded dials and makes HTTP clients; Passage is a filtering HTTP proxy on a
// unix socket, the only way out of a sandbox with network.
package egress
