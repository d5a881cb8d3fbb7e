package files

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"ash/agent"
	"ash/agent/tool"
)

// Bounds of a search.
const (
	searchHits  = 100 // lines that match, unless asked otherwise
	searchMost  = 1000
	searchText  = 48 << 10  // bytes of the result
	searchFile  = 10 << 20  // bytes of a file that is looked into
	searchBytes = 512 << 20 // bytes that are read
	searchFiles = 200_000   // files that are looked into
	searchTime  = 15 * time.Second
	searchLine  = 400 // bytes of a line that are shown
	maxContext  = 10  // lines around a match
)

// searchArguments are those of file_search.
type searchArguments struct {
	Pattern    string `json:"pattern,omitempty" jsonschema:"RE2 regular expression, matched line by line; left out, files are found by glob alone"`
	Path       string `json:"path,omitempty" jsonschema:"folder or file to search; the root when left out"`
	Glob       string `json:"glob,omitempty" jsonschema:"only files that match, such as *.md or src/**/*.go"`
	Literal    bool   `json:"literal,omitempty" jsonschema:"pattern is plain text"`
	IgnoreCase bool   `json:"ignore_case,omitempty" jsonschema:"upper and lower case are the same"`
	Context    int    `json:"context,omitempty" jsonschema:"lines to show before and after a match, at most 10"`
	FilesOnly  bool   `json:"files_only,omitempty" jsonschema:"names of files and counts instead of lines"`
	All        bool   `json:"all,omitempty" jsonschema:"also what git ignores, .git and node_modules"`
	Limit      int    `json:"limit,omitempty" jsonschema:"most matches; 100 when left out, at most 1000"`
}

// query is a search that was understood.
type query struct {
	match     *matcher // nil: by name alone
	glob      glob
	context   int
	filesOnly bool
	all       bool
	limit     int
}

func (a searchArguments) query() (query, error) {
	q := query{context: min(a.Context, maxContext), filesOnly: a.FilesOnly, all: a.All, limit: searchHits}
	if a.Context < 0 || a.Limit < 0 {
		return q, agent.Errorf(agent.CodeInvalid, "context and limit cannot be negative.")
	}
	if a.Limit > 0 {
		q.limit = min(a.Limit, searchMost)
	}
	var err error
	if q.glob, err = parseGlob(a.Glob); err != nil {
		return q, err
	}
	if a.Pattern == "" {
		if a.Glob == "" {
			return q, agent.Errorf(agent.CodeInvalid, "Give a pattern to look for in files, a glob to find files by name, or both.")
		}
		return q, nil
	}
	q.match, err = newMatcher(a.Pattern, a.Literal, a.IgnoreCase)
	return q, err
}

type searcher struct{ f *Files }

// Plan implements tool.Handler.
func (sr searcher) Plan(_ context.Context, env tool.Env, a searchArguments) (tool.Plan, error) {
	if _, err := a.query(); err != nil {
		return tool.Plan{}, err
	}
	s, err := sr.f.find(env, a.Path)
	if err != nil {
		return tool.Plan{}, err
	}
	defer sr.f.close(s)
	if s.info == nil {
		return tool.Plan{}, s.notFound()
	}
	if !s.info.IsDir() && !s.info.Mode().IsRegular() {
		return tool.Plan{}, errKind(s.info.Mode())
	}
	return tool.Plan{Effect: agent.Effect{Kind: agent.EffectRead, Title: "Search files", Target: s.shown(), Text: a.Pattern}}, nil
}

// Run implements tool.Handler.
func (sr searcher) Run(ctx context.Context, env tool.Env, a searchArguments, _ tool.Progress) (agent.ToolOutcome, error) {
	q, err := a.query()
	if err != nil {
		return agent.ToolOutcome{}, err
	}
	s, err := sr.f.find(env, a.Path)
	if err != nil {
		return agent.ToolOutcome{}, err
	}
	defer sr.f.close(s)
	if s.info == nil {
		return agent.ToolOutcome{}, s.notFound()
	}
	timed, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	r := &run{spot: s, query: q}
	err = r.collect(timed)
	if err == nil && q.match != nil {
		r.lookInto(timed)
	}
	switch {
	case ctx.Err() != nil:
		return agent.ToolOutcome{}, ctx.Err()
	case timed.Err() != nil:
		r.late = true
	case err != nil:
		return agent.ToolOutcome{}, err
	}
	if q.match == nil {
		return sr.names(ctx, r)
	}
	return sr.hits(ctx, r)
}

// names answers with the files that were found by name.
func (sr searcher) names(ctx context.Context, r *run) (agent.ToolOutcome, error) {
	var b strings.Builder
	var shown []string
	for _, j := range r.jobs {
		for _, name := range j.names {
			if len(shown) < r.limit && b.Len() < searchText {
				fmt.Fprintln(&b, quote(r.shown(path.Join(j.dir, name))))
				shown = append(shown, name)
			}
		}
	}
	switch {
	case r.files == 0:
		b.WriteString("No file matches the glob.\n")
	case len(shown) < r.files:
		fmt.Fprintf(&b, "[%d more files match: narrow the glob]\n", r.files-len(shown))
	}
	b.WriteString(r.bounds())
	out := tool.Text(b.String())
	var err error
	out.Labels, err = sr.f.namesLabels(ctx, r.spot, shown)
	return out, err
}

// hits answers with the lines that match, labelled by the contents of the files they stand in.
func (sr searcher) hits(ctx context.Context, r *run) (agent.ToolOutcome, error) {
	var b strings.Builder
	var labels []agent.Labels
	var names []string
	left, files, total := r.limit, 0, 0
	for _, h := range r.found {
		total += h.count
		if left <= 0 || b.Len() > searchText {
			continue
		}
		known, err := sr.f.labelsOf(ctx, &spot{room: r.spot.room, path: h.path}, h.hash)
		if err != nil {
			return agent.ToolOutcome{}, err
		}
		labels, names, files = append(labels, known), append(names, path.Base(h.path)), files+1
		if r.filesOnly {
			fmt.Fprintf(&b, "%s  (%d)\n", quote(r.shown(h.path)), h.count)
			left--
			continue
		}
		fmt.Fprintf(&b, "%s\n", quote(r.shown(h.path)))
		left -= h.write(&b, left, searchText)
		b.WriteByte('\n')
	}
	named, err := sr.f.namesLabels(ctx, r.spot, names)
	if err != nil {
		return agent.ToolOutcome{}, err
	}
	head := fmt.Sprintf("%d lines match in %d files", total, len(r.found))
	switch {
	case total == 0:
		head = "Nothing matches"
	case r.stopped:
		head = "At least " + head + "; the first are shown: narrow the search"
	case left <= 0 && total > r.limit, files < len(r.found):
		head += "; the first are shown: narrow the search"
	}
	out := tool.Text(fmt.Sprintf("%s. %d files were looked into.\n\n%s%s", head, r.looked.Load(), b.String(), r.bounds()))
	out.Labels = named.Union(few(labels)...)
	return out, nil
}

// fewPrivate is how many private labels a result bears before they are told as one.
const fewPrivate = 12

// few keeps labels short: who wrote something is always named, which of the person's own files it was only while they are few.
func few(all []agent.Labels) []agent.Labels {
	if len(all) <= fewPrivate {
		return all
	}
	out := []agent.Labels{tool.Private(fmt.Sprintf("%d files", len(all)))}
	for _, labels := range all {
		for _, l := range labels {
			if l.Kind == agent.LabelUntrusted {
				out = append(out, agent.Labels{l})
			}
		}
	}
	return out
}
