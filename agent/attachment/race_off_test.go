//go:build !race

package attachment

const racing = false
