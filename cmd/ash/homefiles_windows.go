package main

import (
	"io/fs"
	"syscall"
	"unsafe"
)

// modesTell: modes say nothing here; folders in a profile are private already.
const modesTell = false

// fileOwner is not told here.
func fileOwner(fs.FileInfo) (uid int, known bool) { return 0, false }

// diskRoom returns the bytes of a disk that this person may use, and all of them.
func diskRoom(path string) (free, total int64, err error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return 0, 0, err
	}
	var available, all uint64
	proc := syscall.NewLazyDLL("kernel32.dll").NewProc("GetDiskFreeSpaceExW")
	ok, _, err := proc.Call(uintptr(unsafe.Pointer(name)), uintptr(unsafe.Pointer(&available)), uintptr(unsafe.Pointer(&all)), 0)
	if ok == 0 {
		return 0, 0, err
	}
	return int64(available), int64(all), nil
}
