package main

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// dialers are the files that may make a connection or look a name up, and where to. Whatever is steered by a page, a link, a redirect, a model or a command goes
// through agent/egress: a line more here is a door more, so it says whose word it takes.
var dialers = map[string]string{
	"ash/agent/egress/client.go":   "rule 10",
	"ash/agent/egress/guarded.go":  "rule 10",
	"ash/agent/egress/passage.go":  "rule 10, for commands",
	"ash/agent/sandbox/relay.go":   "a unix socket of its own",
	"ash/agent/llm/http.go":        "model servers that the person configured; no redirect to another host",
	"ash/agent/sandbox/docker.go":  "the socket of Docker on this machine: other addresses are refused",
	"ash/cmd/ash/client.go":        "the unix socket in the home",
	"ash/cmd/ash/auditflaws.go":    "the public database of known flaws, with names of modules alone, and only when the person asks for it",
	"ash/cmd/ash/doctorclock.go":   "model servers that the person configured, without key or name; no redirect",
	"ash/cmd/ash/doctordoors.go":   "the unix socket in the home",
	"ash/web/webtest/webtest.go":   "tests",
	"ash/agent/egress/egresstest/": "tests",
}

// reaching are the names of the standard library that connect, listen excepted, by package.
var reaching = map[string][]string{
	"net":                          {"Dial", "DialTimeout", "DialTCP", "DialUDP", "DialIP", "DialUnix", "Dialer", "Resolver", "DefaultResolver", "Lookup*"},
	"net/http":                     {"Get", "Head", "Post", "PostForm", "DefaultClient", "DefaultTransport", "Transport", "ProxyFromEnvironment", "Client{}"},
	"net/http/httputil":            {"ReverseProxy", "NewSingleHostReverseProxy"},
	"crypto/tls":                   {"Dial", "DialWithDialer", "Dialer"},
	"net/rpc":                      {"*"},
	"net/smtp":                     {"*"},
	"golang.org/x/net":             {"*"},
	"github.com/gorilla/websocket": {"*"},
}

// TestWhoMayConnect reads every file of the program for whatever makes connections.
func TestWhoMayConnect(t *testing.T) {
	used := map[string]bool{}
	may := slices.Sorted(maps.Keys(dialers))
	for _, p := range packages(t) {
		for _, name := range p.GoFiles {
			at := p.ImportPath + "/" + name
			found := connects(t, filepath.Join(p.Dir, name))
			if len(found) == 0 {
				continue
			}
			i := slices.IndexFunc(may, func(k string) bool { return strings.HasPrefix(at, k) })
			if i < 0 {
				t.Errorf("%s connects to something (%s) and is not one of those that may: take a client of agent/egress, or say here whose word it takes", at, strings.Join(found, ", "))
				continue
			}
			used[may[i]] = true
		}
	}
	for _, k := range may {
		if !used[k] {
			t.Errorf("%s connects to nothing any more: take it off the list", k)
		}
	}
}

// connects returns the names in a file that make connections.
func connects(t *testing.T, path string) (found []string) {
	t.Helper()
	file, err := parser.ParseFile(gotoken.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	local := map[string][]string{}
	for _, i := range file.Imports {
		full := strings.Trim(i.Path.Value, `"`)
		if names, ok := reaching[full]; ok {
			name := full[strings.LastIndexByte(full, '/')+1:]
			if i.Name != nil {
				name = i.Name.Name
			}
			local[name] = names
		}
	}
	selected := func(e ast.Expr) (pkg, name string, ok bool) {
		s, ok := e.(*ast.SelectorExpr)
		if !ok {
			return "", "", false
		}
		x, ok := s.X.(*ast.Ident)
		if !ok {
			return "", "", false
		}
		return x.Name, s.Sel.Name, true
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if c, ok := n.(*ast.CompositeLit); ok {
			if pkg, name, ok := selected(c.Type); ok && slices.Contains(local[pkg], name+"{}") {
				found = append(found, pkg+"."+name)
			}
		}
		if e, ok := n.(ast.Expr); ok {
			if pkg, name, ok := selected(e); ok && slices.ContainsFunc(local[pkg], func(w string) bool {
				head, any := strings.CutSuffix(w, "*")
				return w == name || any && strings.HasPrefix(name, head)
			}) {
				found = append(found, pkg+"."+name)
			}
		}
		return true
	})
	return found
}
