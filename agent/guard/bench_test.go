package guard

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// mixed is 100 KB of what tools return: prose, code, HTML, JSON and other languages.
func mixed() string {
	var b strings.Builder
	for b.Len() < 100<<10 {
		for _, h := range hosts {
			b.WriteString(strings.Replace(h, "%s", "You can send your application to the office until Friday; please include the documents listed above.", 1))
			b.WriteString("\n\n")
		}
		b.WriteString("Die Ausstellung zeigt Werke aus drei Jahrhunderten und ist täglich außer montags geöffnet. Der Eintritt kostet acht Euro.\n")
		b.WriteString("Музей открыт ежедневно, кроме понедельника. Билеты можно купить в кассе.\n博物馆每天开放,星期一除外。门票八欧元。\n")
		b.WriteString("func (s *Server) handle(w http.ResponseWriter, r *http.Request) error { return s.render(w, r.URL.Path, nil) }\n")
	}
	return b.String()[:100<<10]
}

// BenchmarkScan100KB reports the 95th percentile next to the mean.
func BenchmarkScan100KB(b *testing.B) {
	g := New(Options{})
	text := strings.ToValidUTF8(mixed(), "")
	g.Scan(b.Context(), Tool, text)
	b.SetBytes(int64(len(text)))
	var took []time.Duration
	for b.Loop() {
		start := time.Now()
		g.Scan(b.Context(), Tool, text)
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
}

// BenchmarkScanDocs scans real documents, where the machine has any, and reports per 100 KB.
func BenchmarkScanDocs(b *testing.B) {
	files, _ := filepath.Glob("/usr/share/doc/*/*.html")
	more, _ := filepath.Glob("/usr/share/doc/*/*")
	var text strings.Builder
	for _, f := range append(files, more...) {
		if data, err := os.ReadFile(f); err == nil && text.Len() < 1<<20 && !strings.HasSuffix(f, ".gz") {
			text.Write(data)
		}
	}
	if text.Len() < 100<<10 {
		b.Skip("no documents in /usr/share/doc")
	}
	g := New(Options{})
	s := strings.ToValidUTF8(text.String(), "")
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		g.Scan(b.Context(), Tool, s)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N)/float64(len(s))*102400, "ms/100KB")
}

func BenchmarkLexicon(b *testing.B) {
	for b.Loop() {
		newLexicon()
	}
}
