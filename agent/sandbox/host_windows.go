package sandbox

import (
	"io/fs"
	"os"
	"syscall"
	"unsafe"
)

// free returns how many bytes may still be used on the disk of path. Windows has no limit on inodes.
func free(path string) (bytes, inodes int64, err error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return 0, 0, err
	}
	var available uint64
	proc := syscall.NewLazyDLL("kernel32.dll").NewProc("GetDiskFreeSpaceExW")
	ok, _, err := proc.Call(uintptr(unsafe.Pointer(name)), uintptr(unsafe.Pointer(&available)), 0, 0)
	if ok == 0 {
		return 0, 0, err
	}
	return int64(available), -1, nil
}

// alive reports whether process pid exists.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	_ = p.Release()
	return true
}

// owner is not told on Windows.
func owner(fs.FileInfo) (uid, gid int, ok bool) { return 0, 0, false }

// private cannot be told here: folders in a profile are private already.
func private(string) error { return nil }
