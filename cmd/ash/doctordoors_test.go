package main

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"ash/agent/doctor"
)

// TestDoctorTellsWhoIsShutOut looks at an Ash that other devices are to reach, from beside and while it runs: before anybody could sign in,
// with the address taken by another program, and well.
func TestDoctorTellsWhoIsShutOut(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	taken, err := net.Listen("tcp", net.JoinHostPort(ownAddress(t).String(), "0"))
	must(t, err)
	t.Cleanup(func() { _ = taken.Close() }) // it may be closed already
	open := func(listen, lan string) {
		settings(t, w.home, fmt.Sprintf("[sandbox]\nengine = \"off\"\n[server]\nlisten = %q\n[doors]\nlan = %q\n", listen, lan))
	}
	is := func(what string, code int, severity doctor.Severity, says, command string) {
		t.Helper()
		f := of(t, w.examine(code, "--offline"), "Address")
		if f.Severity != severity || !strings.Contains(f.Text, says) || f.Command != command || severity != doctor.OK && f.Fix == "" {
			t.Errorf("%s: %+v", what, f)
		}
	}
	open("0.0.0.0:0", "off")
	is("an address of the network, and nobody could sign in", exitFailed, doctor.Problem, "does not listen on", setPassphraseCommand)
	open("127.0.0.1:0", taken.Addr().String())
	is("a door to the network, and nobody could sign in", exitWarnings, doctor.Warning, "nobody could sign in", setPassphraseCommand)

	server := serving(t, w.home)
	is("the same while it runs", exitWarnings, doctor.Warning, "nobody could sign in", setPassphraseCommand)
	ash(t, "", "doors", "passphrase", "--passphrase-file", passFile(t, "four words nobody expects"), "--home", w.home).is(t, 0)
	server.until("the doors were looked at anew", func() bool {
		return !strings.Contains(of(t, w.looked("--offline"), "Address").Text, "nobody could sign in")
	})
	is("another program has the address", exitWarnings, doctor.Warning, "cannot listen on "+taken.Addr().String(), "ash config set doors.lan off")
	must(t, taken.Close())
	server.until("the network reaches it", func() bool { return of(t, w.looked("--offline"), "Address").Severity == doctor.OK })
	is("well", exitOK, doctor.OK, "Other devices reach it at http://"+taken.Addr().String(), "")
	server.signal(os.Interrupt)
	server.end()
	is("beside, with a passphrase", exitOK, doctor.OK, "is free", "")
	open("0.0.0.0:0", "off")
	is("an address of the network, with a passphrase", exitOK, doctor.OK, "is free", "")
}

const setPassphraseCommand = "ash doors passphrase"
