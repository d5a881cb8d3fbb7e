// Package keypair reads the certificate that a person brings for HTTPS, with its key: files that tailscale cert, certbot or an authority
// of their own wrote. It only reads: renewing them is for who wrote them, and Stamp tells when that happened.
//
// Invariants: a key that others of this machine may read is never used; a pair whose halves do not belong together is none; what is
// returned has its leaf parsed. A certificate whose time is over is returned with the error that says so: a browser then tells the same.
package keypair
