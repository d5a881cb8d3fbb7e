package sandbox

import (
	"strings"

	"github.com/docker/docker/errdefs"
)

// What the engine's answer was about. The functions moved to a module that is no direct dependency of Ash.

func isNotFound(err error) bool {
	return errdefs.IsNotFound(err) //nolint:staticcheck // see above
}

func isConflict(err error) bool {
	return errdefs.IsConflict(err) //nolint:staticcheck // see above
}

// isRefusal reports whether the engine answered that it did not do what it was asked. Of a connection that was to carry a command, Docker's
// client keeps the status in words alone; with any other than these two Podman may have begun it.
func isRefusal(err error) bool {
	for _, status := range []string{"received 404", "received 409"} {
		if strings.Contains(err.Error(), "unable to upgrade to") && strings.HasSuffix(err.Error(), status) {
			return true
		}
	}
	return isNotFound(err) || isConflict(err) ||
		errdefs.IsSystem(err) || errdefs.IsInvalidParameter(err) //nolint:staticcheck // see above
}
