//go:build race

package vault_test

// stride is how many bytes the tests of damage go on by: with the race detector not each one.
const stride = 41
