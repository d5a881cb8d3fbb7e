package files

import (
	"path"
	"slices"
	"strings"

	"ash/agent"
)

// notFound says that nothing is there, and what may have been meant. Names that could be read as a sentence are not
// suggested: an error bears no labels.
func (s *spot) notFound() error {
	dir, name := path.Split(s.path)
	dir = path.Clean(dir)
	info, err := s.root.Lstat(dir)
	for err != nil && dir != "." { // the nearest folder that is there
		dir, name = path.Split(dir)
		dir = path.Clean(dir)
		info, err = s.root.Lstat(dir)
	}
	if err != nil || !info.IsDir() {
		return agent.Errorf(agent.CodeNotFound, "There is no such file or folder. file_list shows what there is.")
	}
	what := "There is no such file or folder."
	if dir != path.Dir(s.path) {
		what = "There is no such folder."
	}
	w := walker{room: s.room, visit: func(entry) error { return nil }}
	entries, err := w.read(dir)
	if err != nil {
		return agent.Errorf(agent.CodeNotFound, "%s file_list shows what there is.", what)
	}
	var near []string
	for _, e := range entries {
		if n := e.Name(); looksLike(n, name) && !wordy(n) && quote(n) == n && len(n) <= 64 {
			near = append(near, s.area.shown(path.Join(dir, n)))
		}
	}
	slices.SortStableFunc(near, func(a, b string) int { return apart(path.Base(a), name) - apart(path.Base(b), name) })
	if len(near) == 0 {
		return agent.Errorf(agent.CodeNotFound, "%s file_list shows what there is.", what)
	}
	return agent.Errorf(agent.CodeNotFound, "%s Did you mean %s?", what, strings.Join(near[:min(3, len(near))], " or "))
}

// looksLike reports whether a name may be meant by another.
func looksLike(name, meant string) bool {
	if len(name) > 64 || len(meant) > 64 {
		return false
	}
	a, b := strings.ToLower(name), strings.ToLower(meant)
	stem := func(s string) string { return strings.TrimSuffix(s, path.Ext(s)) }
	return a == b || len(stem(a)) > 1 && stem(a) == stem(b) || apart(a, b) <= max(1, len(b)/4)
}

// apart is how many letters must be changed, added or left out to make b of a.
func apart(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			next := last
			if a[i] != b[j] {
				next = 1 + min(last, row[j], row[j+1])
			}
			last, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}
