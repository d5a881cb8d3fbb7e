package store

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"ash/agent"
)

// micros is how a time is stored: microseconds since 1970, UTC; 0 for the zero time.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// orNow returns t, or the present when it is zero.
func orNow(t time.Time) time.Time {
	if t.IsZero() {
		return now()
	}
	return t
}

// clean makes foreign text storable: NUL bytes would end an SQL statement early, and
// broken UTF-8 could not be read back. Both become U+FFFD, visible and harmless.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// usageColumns are the counts of a model call, as several tables keep them.
type usageColumns struct {
	Input      int   `bun:"input_tokens"`
	Output     int   `bun:"output_tokens"`
	CacheRead  int   `bun:"cache_read_tokens"`
	CacheWrite int   `bun:"cache_write_tokens"`
	Cost       int64 `bun:"cost"`
	FirstToken int64 `bun:"first_token"` // nanoseconds
	Duration   int64 `bun:"duration"`    // nanoseconds
}

func toUsage(u agent.Usage) usageColumns {
	return usageColumns{u.Input, u.Output, u.CacheRead, u.CacheWrite, int64(u.Cost), int64(u.FirstToken), int64(u.Duration)}
}

func fromUsage(c usageColumns) agent.Usage {
	return agent.Usage{
		Input: c.Input, Output: c.Output, CacheRead: c.CacheRead, CacheWrite: c.CacheWrite,
		Cost: agent.MicroDollars(c.Cost), FirstToken: time.Duration(c.FirstToken), Duration: time.Duration(c.Duration),
	}
}

// toJSON writes a value of the store's own types, which always can be written.
func toJSON(v any) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", fmt.Errorf("encode column: %w", err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

func fromJSON(s string, v any) error {
	if s == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(s), v); err != nil {
		return fmt.Errorf("decode column: %w", err)
	}
	return nil
}
