package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// prelude enters the cgroups named before --, as itself and so before there is any child that could stay outside, and becomes what follows.
const prelude = `ulimit -c 0; ulimit -n 4096 2>/dev/null
for f; do
	shift
	[ "$f" = -- ] && break
	echo 0 >"$f" || exit 125
done
exec "$@"`

// Descriptors handed to bubblewrap, in the order of exec.Cmd.ExtraFiles.
const (
	fdPasswd = 3
	fdFilter = 6 // after group and hosts
)

// arguments is the command line of bubblewrap up to the program, given as program. As root it keeps what it takes to
// become another user, and setpriv does so before anything of the person's runs.
func (b *bubblewrap) arguments(j *job, program []string) []string {
	args := []string{
		b.path, "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try",
		"--die-with-parent", "--hostname", "ash",
	}
	if !j.terminal {
		args = append(args, "--new-session")
	}
	if b.root {
		args = append(args, "--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")
	} else {
		args = append(args, "--unshare-user", "--cap-drop", "ALL")
		if b.has["--disable-userns"] {
			args = append(args, "--disable-userns")
		}
	}
	for _, dir := range []string{"/etc", "/etc/ssl", "/var", "/run", "/run/ash"} { // made along the way they would be for their owner only
		args = append(args, "--perms", "0755", "--dir", dir)
	}
	args = append(args, systemMounts()...)
	args = append(args, "--proc", "/proc", "--dev", "/dev")
	for _, dir := range []string{"/tmp", "/home", "/dev/shm"} {
		args = append(args, "--perms", "1777", "--size", strconv.FormatInt(j.settings.Disk, 10), "--tmpfs", dir)
	}
	args = append(args, "--symlink", "../tmp", "/var/tmp")
	for i, name := range []string{"passwd", "group", "hosts"} {
		args = append(args, "--perms", "0444", "--ro-bind-data", strconv.Itoa(fdPasswd+i), "/etc/"+name)
	}
	if j.ReadOnly {
		args = append(args, "--ro-bind", j.Root, "/work")
	} else {
		args = append(args, "--bind", j.Root, "/work")
	}
	if j.passage != nil {
		args = append(args, "--ro-bind", j.passage.Socket(), insideSocket, "--ro-bind", j.self, insideSelf)
	}
	if b.filter != nil {
		args = append(args, "--seccomp", strconv.Itoa(fdFilter))
	}
	args = append(args, "--remount-ro", "/", "--chdir", "/", "--")
	if b.root {
		args = append(args, b.setpriv, "--reuid="+strconv.Itoa(j.user.uid), "--regid="+strconv.Itoa(j.user.gid), "--clear-groups", "--inh-caps=-all", "--")
	}
	if len(j.Env) > 0 {
		// Set here, as the user without rights: LD_PRELOAD and its like would rule what runs before.
		args = append(append(args, "/usr/bin/env"), j.Env...)
	}
	return append(args, program...)
}

// systemMounts shows the programs of the machine, read-only, and nothing of /etc but what they cannot do without.
func systemMounts() []string {
	args := []string{"--ro-bind", "/usr", "/usr"}
	for _, name := range []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} {
		if target, err := os.Readlink(name); err == nil {
			args = append(args, "--symlink", target, name)
		} else if _, err := os.Stat(name); err == nil {
			args = append(args, "--ro-bind", name, name)
		}
	}
	for _, name := range []string{
		"ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "ssl/certs", "ssl/openssl.cnf", "ca-certificates", "pki",
		"localtime", "mime.types", "nsswitch.conf", "protocols", "services", "python3",
	} {
		path := filepath.Join("/etc", name)
		args = append(args, "--ro-bind-try", path, path)
	}
	return args
}

// data are the texts behind the descriptors.
func (b *bubblewrap) data(j *job) [][]byte {
	texts := [][]byte{
		fmt.Appendf(nil, "root:x:0:0::/:/bin/false\nash:x:%d:%d:Ash:/home:/bin/sh\n", j.user.uid, j.user.gid),
		fmt.Appendf(nil, "root:x:0:\nash:x:%d:\n", j.user.gid),
		[]byte("127.0.0.1 localhost\n::1 localhost\n"),
	}
	if b.filter != nil {
		texts = append(texts, b.filter)
	}
	return texts
}
