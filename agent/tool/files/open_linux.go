package files

import (
	"os"
	"slices"
	"syscall"
)

// noWait keeps opening a pipe from waiting for its other end.
const noWait = syscall.O_NONBLOCK

// systemMagic are the file systems whose files are doors to the kernel
// (https://man7.org/linux/man-pages/man2/statfs.2.html): proc, sysfs, cgroup, cgroup2, debugfs, tracefs, securityfs, devpts, bpf, pstore,
// efivarfs, binfmt_misc, selinuxfs.
var systemMagic = []int64{
	0x9fa0, 0x62656572, 0x27e0eb, 0x63677270, 0x64626720, 0x74726163, 0x73636673, 0x1cd1, 0xcafe4a11, 0x6165676c,
	0xde5e81e4, 0x42494e4d, 0xf97cff8c,
}

// ofSystem reports whether an open file or folder belongs to the kernel, wherever it is mounted.
func ofSystem(f *os.File) bool {
	c, err := f.SyscallConn()
	if err != nil {
		return true
	}
	var st syscall.Statfs_t
	var failed error
	err = c.Control(func(fd uintptr) { failed = syscall.Fstatfs(int(fd), &st) })
	if err != nil || failed != nil {
		return false // a network file system may not tell
	}
	return slices.Contains(systemMagic, int64(st.Type)) //nolint:unconvert // it has other types on other processors
}

// owner returns who a file belongs to.
func owner(info os.FileInfo) (uid, gid int, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(st.Uid), int(st.Gid), true
}
