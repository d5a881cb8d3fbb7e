//go:build !unix

package notes

const patient = 0
