package sandbox

import "github.com/docker/docker/errdefs"

// What the engine's answer was about. The functions moved to a module that is no direct dependency of Ash.

func isNotFound(err error) bool {
	return errdefs.IsNotFound(err) //nolint:staticcheck // see above
}

func isConflict(err error) bool {
	return errdefs.IsConflict(err) //nolint:staticcheck // see above
}

// isRefusal reports whether the engine answered that it did not do what it was asked.
func isRefusal(err error) bool {
	return isNotFound(err) || isConflict(err) ||
		errdefs.IsSystem(err) || errdefs.IsInvalidParameter(err) //nolint:staticcheck // see above
}
