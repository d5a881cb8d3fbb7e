//go:build linux && !race

package remembering

const usual = 40
