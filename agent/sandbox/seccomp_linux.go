package sandbox

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/net/bpf"
)

// What a filter answers (linux/seccomp.h), with an errno in the low half.
const (
	seccompAllow = 0x7fff0000
	seccompErrno = 0x00050000
	seccompKill  = 0x80000000
)

// callNumbers are the system calls one machine's filter is about (asm/unistd.h). Zero: the machine has no such call.
type callNumbers struct {
	audit                uint32 // AUDIT_ARCH_… of linux/audit.h
	x32                  bool   // numbers above 1<<30 are another calling convention
	clone, ioctl, socket uint32
	denied               []uint32
	clone3               uint32
}

// machineCalls returns the numbers for this machine; ok is false for one that is not known.
//
// Denied is what reaches deep into the kernel and what ordinary programs do without: mounting and namespaces, tracing and reading other processes,
// keys, BPF, io_uring, userfaultfd, performance counters, modules, kexec, clocks, swap, accounting. The list follows Docker's
// default profile and Flatpak's.
func machineCalls(arch string) (n callNumbers, ok bool) {
	// New calls have the same number on every machine: clone3 is 435.
	// open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr io_uring_setup io_uring_enter io_uring_register
	both := []uint32{428, 429, 430, 431, 432, 433, 442, 425, 426, 427}
	switch arch {
	case "amd64":
		return callNumbers{
			audit: 0xc000003e, x32: true, clone: 56, ioctl: 16, socket: 41, clone3: 435,
			denied: append(both,
				163, 248, 321, 227, // acct add_key bpf clock_settime
				176, 300, 313, 175, 173, 172, // delete_module fanotify_init finit_module init_module ioperm iopl
				320, 246, 250, 212, // kexec_file_load kexec_load keyctl lookup_dcookie
				237, 256, 165, 279, // mbind migrate_pages mount move_pages
				303, 304, 298, 155, // name_to_handle_at open_by_handle_at perf_event_open pivot_root
				310, 311, 101, 179, 169, 249, // process_vm_readv process_vm_writev ptrace quotactl reboot request_key
				308, 164, 168, 167, 103, // setns settimeofday swapoff swapon syslog
				166, 272, 323, 153, 161), // umount2 unshare userfaultfd vhangup chroot
		}, true
	case "arm64":
		return callNumbers{
			audit: 0xc00000b7, clone: 220, ioctl: 29, socket: 198, clone3: 435,
			denied: append(both,
				89, 217, 280, 112, 106, 262, 273, 105, 294, 104, 219, 18, 235, 238, 40, 239, 264, 265, 241, 41,
				270, 271, 117, 60, 142, 218, 268, 170, 225, 224, 116, 39, 97, 282, 58, 51), // in the order above
		}, true
	}
	return callNumbers{}, false
}

// seccompFilter is the filter for bubblewrap: struct sock_filter[] in the byte order of this machine. It is nil for a machine that is not known.
func seccompFilter() ([]byte, error) {
	n, ok := machineCalls(runtime.GOARCH)
	if !ok {
		return nil, nil
	}
	program, err := bpf.Assemble(filterProgram(n))
	if err != nil {
		return nil, fmt.Errorf("seccomp: %w", err)
	}
	var b bytes.Buffer
	for _, i := range program {
		if err := binary.Write(&b, binary.NativeEndian, i); err != nil {
			return nil, fmt.Errorf("seccomp: %w", err)
		}
	}
	return b.Bytes(), nil
}

// Offsets in struct seccomp_data; arguments by their low half on little-endian machines.
const (
	dataCall = 0
	dataArch = 4
	dataArg0 = 16
	dataArg1 = 24
)

func filterProgram(n callNumbers) []bpf.Instruction {
	answer := func(a uint32) bpf.Instruction { return bpf.RetConstant{Val: a} }
	is := func(v uint32, a uint32) []bpf.Instruction {
		return []bpf.Instruction{bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipFalse: 1}, answer(a)}
	}
	load := func(off uint32) bpf.Instruction { return bpf.LoadAbsolute{Off: off, Size: 4} }
	program := []bpf.Instruction{
		load(dataArch),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: n.audit, SkipTrue: 1}, answer(seccompKill),
		load(dataCall),
	}
	if n.x32 {
		program = append(program, bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: 1 << 30, SkipFalse: 1}, answer(seccompKill))
	}
	for _, call := range n.denied {
		program = append(program, is(call, seccompErrno|errnoPerm)...)
	}
	program = append(program, is(n.clone3, seccompErrno|errnoNoSys)...) // its flags are in memory, out of a filter's reach: libraries fall back to clone

	// The rest looks at arguments. Each part ends with an answer, so that a call meets at most one.
	part := func(call uint32, body ...bpf.Instruction) {
		program = append(program, bpf.JumpIf{Cond: bpf.JumpEqual, Val: call, SkipFalse: uint8(len(body))}) //nolint:gosec // a handful
		program = append(program, body...)
	}
	const newUser = 0x10000000 // CLONE_NEWUSER
	part(n.clone, load(dataArg0),
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: newUser, SkipFalse: 1}, answer(seccompErrno|errnoPerm), answer(seccompAllow))
	const tiocsti, tioclinux = 0x5412, 0x541c // typing into the terminal of somebody else
	part(n.ioctl, slices.Concat([]bpf.Instruction{load(dataArg1)},
		is(tiocsti, seccompErrno|errnoPerm), is(tioclinux, seccompErrno|errnoPerm), []bpf.Instruction{answer(seccompAllow)})...)
	families := []bpf.Instruction{load(dataArg0)}
	for _, family := range []uint32{1, 2, 10, 16} { // unix, inet, inet6, netlink
		families = append(families, is(family, seccompAllow)...)
	}
	part(n.socket, append(families, answer(seccompErrno|errnoNoFamily))...)
	return append(program, answer(seccompAllow))
}
