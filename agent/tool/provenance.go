package tool

import (
	"context"

	"ash/agent"
)

// Provenance knows where the contents of files came from (threats.md 6). Roots are absolute, paths relative to
// them with forward slashes, hashes SHA-256 in lower-case hex. Its place is package policy.
type Provenance interface {
	// Labels returns those of a file with these contents: what was recorded when they were written; nothing but
	// private when the person declared the folder their own; untrusted otherwise.
	Labels(ctx context.Context, root, path, hash string) (agent.Labels, error)
	// Wrote records that Ash wrote these contents out of material that bears labels. The hash "" says that the file is gone.
	Wrote(ctx context.Context, root, path, hash string, labels agent.Labels) error
	// Watch is called before a command runs over root. labels are those of everything it could read there; settle records, after it,
	// every file it made or changed: with those labels and more (the prompt's, the network's).
	Watch(ctx context.Context, root string) (labels agent.Labels, settle func(ctx context.Context, more agent.Labels) error, err error)
}
