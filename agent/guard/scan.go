package guard

import "context"

// Scan todo
func (g *Guard) Scan(_ context.Context, _ Channel, _ string) Report { return Report{} }
