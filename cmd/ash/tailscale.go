package main

import (
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"time"
)

const (
	tailscaleEvery = time.Minute     // how often it is looked whether Tailscale runs here
	tailscaleTime  = 3 * time.Second // for its answer
)

// tailnetName asks Tailscale on this machine for the machine's name in the tailnet, "box.tail1234.ts.net"; "" where it is not installed,
// not connected, or does not answer.
func tailnetName(ctx context.Context) string {
	path, err := exec.LookPath("tailscale")
	if err != nil {
		return ""
	}
	ctx, done := context.WithTimeout(ctx, tailscaleTime)
	defer done()
	cmd := exec.CommandContext(ctx, path, "status", "--json", "--peers=false")
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return parseTailnet(out)
}

// parseTailnet reads what "tailscale status --json" prints.
func parseTailnet(out []byte) string {
	var status struct {
		BackendState string
		Self         struct{ DNSName string }
	}
	if json.Unmarshal(out, &status) != nil || status.BackendState != "Running" {
		return ""
	}
	name := strings.ToLower(strings.TrimSuffix(status.Self.DNSName, "."))
	odd := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '.' }
	if len(name) > 253 || strings.ContainsFunc(name, odd) {
		return ""
	}
	return name
}
