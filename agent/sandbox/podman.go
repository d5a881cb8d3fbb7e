package sandbox

import (
	"context"
	"net/http"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"
)

// What Podman makes of the same requests, where that is not what Docker makes of them (seen with 4.3).

// isPodman reports whether an engine is Podman. It says so in every answer, in a header that Docker's client does not hand on; asking
// for its version would take it a second.
func isPodman(ctx context.Context, cli *client.Client) (bool, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+client.DummyHost+"/_ping", nil)
	if err != nil {
		return false, err
	}
	res, err := cli.HTTPClient().Do(req)
	if err != nil {
		return false, err
	}
	return res.Header.Get("Libpod-Api-Version") != "", res.Body.Close()
}

// podmanHost changes h so that Podman holds what Docker holds. tmpfs are the options of /tmp and /home.
func podmanHost(h *container.HostConfig, tmpfs string) {
	// A read-only system gets writable, unbounded folders in memory at these places, unless something is there already. In the image the
	// second leads to /tmp, and would be laid over it.
	h.Tmpfs["/run"] = "ro,size=64k,nosuid,nodev,noexec,mode=755"
	h.Tmpfs["/var/tmp"] = tmpfs
	// With a limit of files, it sets one of processes too, higher than it may where root is not all-powerful (a container in
	// a container). line.sh limits the files.
	h.Ulimits = nil
}
