package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"

	"ash/agent"
)

// What Podman makes of the same requests, where that is not what Docker makes of them (seen with 4.3).

// podman is what Podman alone tells; nil is Docker.
type podman struct {
	rootless bool
}

// findPodman asks an engine whether it is Podman, and what Docker's client does not hand on. It says so in every answer, in a header; asking
// for its version would take it a second.
func findPodman(ctx context.Context, cli *client.Client) (*podman, error) {
	header, err := ask(ctx, cli, "/_ping", nil)
	if err != nil || header.Get("Libpod-Api-Version") == "" {
		return nil, err
	}
	var info struct{ Rootless bool } // not among its security options, as with Docker
	if _, err := ask(ctx, cli, "/info", &info); err != nil {
		return nil, err
	}
	return &podman{rootless: info.Rootless}, nil
}

// ask gets one answer past Docker's client, into v unless that is nil.
func ask(ctx context.Context, cli *client.Client, path string, v any) (http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+client.DummyHost+path, nil)
	if err != nil {
		return nil, err
	}
	res, err := cli.HTTPClient().Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	if v != nil {
		if err := json.NewDecoder(res.Body).Decode(v); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, res.Status, err)
		}
	}
	return res.Header, nil
}

// podmanHost changes h so that Podman holds what Docker holds. filter is the file of podmanFilter, or "".
func podmanHost(h *container.HostConfig, filter string) {
	// A read-only system gets writable, unbounded folders in memory at these places, unless something is there already. In the image the
	// second leads to /tmp, and would be laid over it.
	h.Tmpfs["/run"] = "ro,size=64k,nosuid,nodev,noexec,mode=755"
	h.Tmpfs["/var/tmp"] = h.Tmpfs["/tmp"]
	// With a limit of files, it sets one of processes too, higher than it may where root is not all-powerful (a container in
	// a container); without, what its configuration says. line.sh limits the files.
	h.Ulimits = nil
	// Its own filter lets everybody make user namespaces and mount in them: capabilities by another way. Unlike Docker, it reads
	// the file by itself.
	if filter != "" {
		h.SecurityOpt = append(h.SecurityOpt, "seccomp="+filter)
	}
}

// ociFilter is a filter of system calls as OCI runtimes take it (opencontainers/runtime-spec, config-linux.md).
type ociFilter struct {
	Default string    `json:"defaultAction"`
	Rules   []ociRule `json:"syscalls"`
}

// ociRule holds when all its arguments do.
type ociRule struct {
	Names  []string `json:"names"`
	Action string   `json:"action"`
	Errno  int      `json:"errnoRet"`
	Args   []ociArg `json:"args,omitempty"`
}

type ociArg struct {
	Index    int    `json:"index"`
	Value    uint64 `json:"value"`
	ValueTwo uint64 `json:"valueTwo"`
	Op       string `json:"op"`
}

// Errors as filters give them: Linux's, wherever Ash runs.
const (
	errnoPerm     = 1
	errnoNoSys    = 38
	errnoNoFamily = 97
)

// podmanFilter denies what filterProgram does for bubblewrap, and what Docker's and Podman's own filters deny besides. Other
// calling conventions than the machine's own are killed by the runtime.
func podmanFilter() ociFilter {
	deny := func(errno int, args []ociArg, names ...string) ociRule {
		return ociRule{Names: names, Action: "SCMP_ACT_ERRNO", Errno: errno, Args: args}
	}
	equal := func(index int, value uint64) []ociArg { return []ociArg{{index, value, 0, "SCMP_CMP_EQ"}} }
	const newUser = 0x10000000                // CLONE_NEWUSER
	const tiocsti, tioclinux = 0x5412, 0x541c // typing into the terminal of somebody else
	const lower = 0xffffffff                  // of a request, the kernel looks at this half only
	masked := func(index int, mask, value uint64) []ociArg {
		return []ociArg{{index, mask, value, "SCMP_CMP_MASKED_EQ"}}
	}
	f := ociFilter{Default: "SCMP_ACT_ALLOW", Rules: []ociRule{
		deny(errnoPerm, nil,
			"mount", "umount", "umount2", "open_tree", "open_tree_attr", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr",
			"pivot_root", "chroot", "unshare", "setns", "name_to_handle_at", "open_by_handle_at", "quotactl", "quotactl_fd", "swapon", "swapoff",
			"ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd", "perf_event_open", "lookup_dcookie",
			"add_key", "request_key", "keyctl", "bpf", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register",
			"init_module", "finit_module", "delete_module", "create_module", "kexec_load", "kexec_file_load", "reboot", "syslog", "acct",
			"clock_settime", "clock_settime64", "clock_adjtime", "clock_adjtime64", "settimeofday", "stime", "adjtimex",
			"ioperm", "iopl", "vhangup", "mbind", "migrate_pages", "move_pages", "fanotify_init", "sethostname", "setdomainname",
			"bdflush", "nfsservctl", "sysfs", "_sysctl", "uselib", "ustat", "vm86", "vm86old", "get_kernel_syms", "query_module", "vserver"),
		deny(errnoNoSys, nil, "clone3"), // its flags are in memory, out of a filter's reach: libraries fall back to clone
		deny(errnoPerm, masked(0, newUser, newUser), "clone"),
		deny(errnoPerm, masked(1, lower, tiocsti), "ioctl"),
		deny(errnoPerm, masked(1, lower, tioclinux), "ioctl"),
		deny(errnoNoFamily, []ociArg{{0, 16, 0, "SCMP_CMP_GT"}}, "socket"),
	}}
	for _, family := range []uint64{3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15} { // all but unix, inet, inet6, netlink
		f.Rules = append(f.Rules, deny(errnoNoFamily, equal(0, family), "socket"))
	}
	return f
}

// filterFile writes podmanFilter to the file that containers are made with, and returns its path. Another process of this home may do the same.
func (d *docker) filterFile() (string, error) {
	text, err := json.Marshal(podmanFilter())
	if err != nil {
		return "", err
	}
	path := filepath.Join(d.dir, "podman-seccomp.json")
	if there, err := os.ReadFile(path); err == nil && bytes.Equal(there, text) { //nolint:gosec // Ash's own
		return path, nil
	}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return "", err
	}
	part, err := os.CreateTemp(d.dir, "seccomp-")
	if err != nil {
		return "", err
	}
	_, err = part.Write(text)
	if closeErr := part.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(part.Name(), path)
	}
	if err != nil {
		_ = os.Remove(part.Name())
		return "", err
	}
	return path, nil
}

// podmanRefusal says what the engine cannot hold although its own description does not say so; nil when there is nothing.
func (l *dockerLink) podmanRefusal() error {
	if l.podman && l.rootless && l.info.CgroupVersion == "1" { // it takes the limits, and leaves them out
		return agent.Errorf(agent.CodeUnavailable, "Podman without root can limit nothing here, so it counts as no sandbox: that takes cgroup v2, and this system uses v1.")
	}
	return nil
}
