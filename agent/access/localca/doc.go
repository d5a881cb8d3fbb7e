// Package localca is a certificate authority for one home: it makes HTTPS possible on addresses of a home network, for which no public
// authority gives certificates. It does no work on the disk or the network; cmd/ash keeps the keys (the authority's in the vault).
//
// What holds:
//
//   - The authority can vouch for this machine only: name constraints (RFC 5280, 4.2.1.10) permit names of home networks, this machine's own
//     name, and private addresses, and nothing else. A device that trusts it cannot be shown a forged bank, even by whoever has stolen the key.
//   - It signs certificates of servers (extended key usage), and no other authorities (path length 0).
//   - Every certificate of a server has a key of its own and lasts 397 days at most: phones refuse longer ones.
package localca
