package sandbox

import (
	"runtime"
	"testing"

	"golang.org/x/net/bpf"
)

// call is a system call as the filter sees it.
func call(audit, nr uint32, args ...uint32) []byte {
	data := make([]byte, 64)
	put := func(off int, v uint32) { // the test's machine loads big-endian (bpf.VM)
		data[off], data[off+1], data[off+2], data[off+3] = byte(v>>24), byte(v>>16), byte(v>>8), byte(v)
	}
	put(dataCall, nr)
	put(dataArch, audit)
	for i, a := range args {
		put(dataArg0+8*i, a)
	}
	return data
}

func TestFilterOfSystemCalls(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		n, ok := machineCalls(arch)
		if !ok {
			t.Fatal(arch)
		}
		vm, err := bpf.NewVM(filterProgram(n))
		if err != nil {
			t.Fatal(err)
		}
		const eperm, enosys, eafnosupport = seccompErrno | errnoPerm, seccompErrno | errnoNoSys, seccompErrno | errnoNoFamily
		type one struct {
			name string
			data []byte
			want uint32
		}
		list := []one{
			{"an ordinary call", call(n.audit, 1000), seccompAllow},
			{"another machine's", call(n.audit+1, 1000), seccompKill},
			{"a thread", call(n.audit, n.clone, 0x003d0f00), seccompAllow},
			{"a user namespace", call(n.audit, n.clone, 0x10000011), eperm},
			{"clone3", call(n.audit, n.clone3), enosys},
			{"the size of a terminal", call(n.audit, n.ioctl, 0, 0x5413), seccompAllow},
			{"TIOCSTI", call(n.audit, n.ioctl, 0, 0x5412), eperm},
			{"TIOCLINUX", call(n.audit, n.ioctl, 0, 0x541c), eperm},
			{"a unix socket", call(n.audit, n.socket, 1), seccompAllow},
			{"an inet6 socket", call(n.audit, n.socket, 10), seccompAllow},
			{"a packet socket", call(n.audit, n.socket, 17), eafnosupport},
			{"a vsock", call(n.audit, n.socket, 40), eafnosupport},
		}
		if n.x32 {
			list = append(list, one{"x32", call(n.audit, 1<<30|1), seccompKill})
		}
		for _, nr := range n.denied {
			list = append(list, one{"denied", call(n.audit, nr), eperm})
		}
		for _, o := range list {
			if got, err := vm.Run(o.data); err != nil || uint32(got) != o.want {
				t.Errorf("%s: %s %d: %#x, want %#x, %v", arch, o.name, o.data[:4], got, o.want, err)
			}
		}
	}
	if f, err := seccompFilter(); err != nil || (runtime.GOARCH == "amd64" && len(f)%8 != 0) || (runtime.GOARCH == "amd64" && len(f) == 0) {
		t.Errorf("%d bytes, %v", len(f), err)
	}
}
