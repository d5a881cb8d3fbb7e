package guard

import (
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestWideBenign measures false alarms over what a machine has of other people's texts: GUARD_WIDE names folders, divided as in
// PATH. Half of the files, by a hash of their path, are shown when flagged, for tuning; the other half is only counted.
func TestWideBenign(t *testing.T) {
	folders := os.Getenv("GUARD_WIDE")
	if folders == "" {
		t.Skip("GUARD_WIDE names no folders of texts to measure")
	}
	most := map[string]float64{"chat": .001, "mail": .01, "code": .01, "tool": .01, "docs": .05, "security": .15}
	count := map[string][2]int{}   // flagged, all
	secrets := map[string][2]int{} // files with a secret, all
	g := New(Options{})
	seen := map[uint64]bool{}
	for _, folder := range filepath.SplitList(folders) {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if unreadable := err != nil; unreadable || !d.Type().IsRegular() {
				return nil //nolint:nilerr // what cannot be read is not measured
			}
			kind := kindOf(path)
			data, err := os.ReadFile(path)
			if err != nil || kind == "" || len(data) < 40 || len(data) > 400<<10 || !utf8.Valid(data) {
				return nil //nolint:nilerr // what cannot be read is not measured
			}
			content := fnv.New64a()
			_, _ = content.Write(data)
			if seen[content.Sum64()] {
				return nil // copies of one text count once
			}
			seen[content.Sum64()] = true
			half := fnv.New32a()
			_, _ = half.Write([]byte(filepath.Base(filepath.Dir(path)) + filepath.Base(path)))
			tune := half.Sum32()%2 == 0
			name := kind + map[bool]string{true: " tuned", false: " held out"}[tune]
			channel := Tool
			if kind == "chat" {
				channel = Message
			}
			r := g.Scan(t.Context(), channel, string(data))
			c := count[name]
			c[1]++
			if r.Flagged {
				c[0]++
				if tune && verbose {
					t.Logf("FLAGGED %s %.2f %s %s", kind, r.Score, path, reasons(r, string(data)))
				}
			}
			count[name] = c
			found := g.FindSecrets(string(data))
			s := secrets[name]
			s[1]++
			if len(found) > 0 {
				s[0]++
				if tune && verbose {
					for _, f := range found[:min(len(found), 3)] {
						t.Logf("SECRET %s %s %s %.160q in %.200q", kind, path, f.Rule, data[f.Start:f.End], data[max(0, f.Start-60):f.End])
					}
				}
			}
			secrets[name] = s
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	for n := range count {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		c, s := count[n], secrets[n]
		share := float64(c[0]) / float64(c[1])
		t.Logf("%-20s %5d of %6d flagged, %.2f %%; %d with secrets", n, c[0], c[1], share*100, s[0])
		if kind, _, _ := strings.Cut(n, " "); share > most[kind] {
			t.Errorf("%s: %.2f %% flagged, at most %.1f %%", n, share*100, most[kind]*100)
		}
	}
}

// kindOf sorts files: a folder named as a kind wins over what the name says. "" is not measured.
func kindOf(path string) string {
	for _, k := range [...]string{"chat", "mail", "tool", "security"} {
		if strings.Contains(path, "/benign-"+k+"/") {
			return k
		}
	}
	lower := strings.ToLower(path)
	switch filepath.Ext(lower) {
	case ".md", ".markdown", ".rst", ".adoc", ".pod", ".man", ".html":
		return "docs"
	case ".go", ".py", ".js", ".mjs", ".cjs", ".ts", ".c", ".h", ".sh", ".rb", ".java", ".css", ".sql", ".pl", ".pm", ".proto", ".tmpl", ".yml", ".yaml", ".toml":
		return "code"
	case ".json", ".csv", ".xml", ".log", ".out", ".golden":
		return "tool"
	case ".txt", "":
		switch base := filepath.Base(lower); {
		case strings.HasPrefix(base, "readme"), strings.HasPrefix(base, "change"), strings.HasPrefix(base, "copyright"), strings.HasPrefix(base, "news"), strings.HasPrefix(base, "licen"), strings.HasSuffix(base, ".txt"):
			return "docs"
		}
	}
	return ""
}

func reasons(r Report, text string) string {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "\n      %s %.2f %.150q", f.Rule, f.Score, text[max(0, f.Start-25):min(len(text), f.End+50)])
	}
	return b.String()
}
