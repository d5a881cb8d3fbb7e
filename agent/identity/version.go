package identity

import (
	"context"
	"time"

	"ash/agent"
)

// Source says how a version came to be.
type Source string

// The sources of a version.
const (
	SourceDefault Source = "default" // written on first start
	SourcePage    Source = "page"    // saved in the page
	SourceOutside Source = "outside" // an editor changed the file
	SourceRestore Source = "restore" // an older version brought back
)

// Version is one state a file has had.
type Version struct {
	ID      agent.ID
	File    string // "SOUL.md", "USER.md" or "TOOLS.md"
	Hash    string // SHA-256 of Text, lower-case hex
	Text    string // "" in lists
	Size    int    // bytes
	Source  Source
	Created time.Time
}

// Versions keeps every state the files have had.
type Versions interface {
	AddVersion(ctx context.Context, v Version) error
	// LatestVersion returns the newest version of file, with Text. CodeNotFound when there is none.
	LatestVersion(ctx context.Context, file string) (Version, error)
	// ListVersions returns up to limit versions, newest first, without Text.
	ListVersions(ctx context.Context, file string, limit int) ([]Version, error)
	// Version returns one version with Text.
	Version(ctx context.Context, id agent.ID) (Version, error)
}
