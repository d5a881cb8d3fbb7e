package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strings"

	"ash/agent"
	"ash/agent/audit"
)

// flawDatabase answers which modules of Go have known flaws (https://google.github.io/osv.dev/post-v1-querybatch/). It is told the names and
// versions of the public modules this program is made of, and nothing else.
const flawDatabase = "https://api.osv.dev/v1/querybatch"

// modules are what this program is made of.
func modules() []audit.Module {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	out := []audit.Module{{Path: "stdlib", Version: strings.TrimPrefix(info.GoVersion, "go")}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		if strings.HasPrefix(m.Version, "v") {
			out = append(out, audit.Module{Path: m.Path, Version: m.Version})
		}
	}
	return out
}

// flawAsker asks which modules have known flaws.
type flawAsker func(ctx context.Context, list []audit.Module) ([]audit.Flaw, error)

// askFlaws asks the database of flaws. Only a look for which the person said so does that: what leaves this machine, leaves it because
// somebody asked.
func askFlaws(ctx context.Context, list []audit.Module) ([]audit.Flaw, error) {
	return flawsOf(ctx, flawDatabase, list)
}

// maxFlaws bounds an answer of the database of flaws, in bytes.
const maxFlaws = 4 << 20

func flawsOf(ctx context.Context, database string, list []audit.Module) ([]audit.Flaw, error) {
	type pack struct {
		Name      string `json:"name"`
		Ecosystem string `json:"ecosystem"`
	}
	type query struct {
		Package pack   `json:"package"`
		Version string `json:"version"`
	}
	var in struct {
		Queries []query `json:"queries"`
	}
	for _, m := range list {
		in.Queries = append(in.Queries, query{pack{m.Path, "Go"}, strings.TrimPrefix(m.Version, "v")})
	}
	body, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, database, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }() // read only
	var out struct {
		Results []struct {
			Vulns []struct {
				ID string `json:"id"`
			} `json:"vulns"`
		} `json:"results"`
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the database of flaws answers %s", res.Status)
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxFlaws)).Decode(&out); err != nil {
		return nil, err
	}
	if len(out.Results) != len(list) {
		return nil, fmt.Errorf("the database of flaws answers for %d of %d modules", len(out.Results), len(list))
	}
	var flaws []audit.Flaw
	for i, r := range out.Results {
		for _, v := range r.Vulns {
			flaws = append(flaws, audit.Flaw{ID: agent.Clip(v.ID, 60), Module: list[i]})
		}
	}
	return flaws, nil
}
