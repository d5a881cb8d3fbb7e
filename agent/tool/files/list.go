package files

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"time"

	"ash/agent"
	"ash/agent/tool"
)

// Bounds of a listing.
const (
	listPage = 200 // entries, unless asked otherwise
	listMost = 1000
	listText = 48 << 10 // bytes
	walkTime = 10 * time.Second
)

// listArguments are those of file_list.
type listArguments struct {
	Path      string `json:"path,omitempty" jsonschema:"folder relative to the root, or a further folder by its absolute path; the root when left out"`
	Recursive bool   `json:"recursive,omitempty" jsonschema:"also what is in the folders below"`
	Depth     int    `json:"depth,omitempty" jsonschema:"how many levels of folders, with recursive; all when left out"`
	Glob      string `json:"glob,omitempty" jsonschema:"only files that match, such as *.md or src/**/*.go"`
	All       bool   `json:"all,omitempty" jsonschema:"also look into folders that git ignores, .git and node_modules"`
	Offset    int    `json:"offset,omitempty" jsonschema:"entries to skip, to get the next page"`
	Limit     int    `json:"limit,omitempty" jsonschema:"most entries to return; 200 when left out, at most 1000"`
}

type lister struct{ f *Files }

// Plan implements tool.Handler.
func (l lister) Plan(_ context.Context, env tool.Env, a listArguments) (tool.Plan, error) {
	if _, err := parseGlob(a.Glob); err != nil {
		return tool.Plan{}, err
	}
	if a.Offset < 0 || a.Limit < 0 || a.Depth < 0 {
		return tool.Plan{}, agent.Errorf(agent.CodeInvalid, "depth, offset and limit cannot be negative.")
	}
	s, err := l.f.find(env, a.Path)
	if err != nil {
		return tool.Plan{}, err
	}
	defer l.f.close(s)
	if s.info == nil {
		return tool.Plan{}, s.notFound()
	}
	if !s.info.IsDir() && !s.info.Mode().IsRegular() {
		return tool.Plan{}, errKind(s.info.Mode())
	}
	return tool.Plan{Effect: agent.Effect{Kind: agent.EffectRead, Title: "List a folder", Target: s.shown()}}, nil
}

// Run implements tool.Handler.
func (l lister) Run(ctx context.Context, env tool.Env, a listArguments, _ tool.Progress) (agent.ToolOutcome, error) {
	s, err := l.f.find(env, a.Path)
	if err != nil {
		return agent.ToolOutcome{}, err
	}
	defer l.f.close(s)
	if s.info == nil {
		return agent.ToolOutcome{}, s.notFound()
	}
	page := &listing{spot: s, skip: a.Offset, limit: listPage}
	if a.Limit > 0 {
		page.limit = min(a.Limit, listMost)
	}
	if page.glob, err = parseGlob(a.Glob); err != nil {
		return agent.ToolOutcome{}, err
	}
	cut, late := false, false
	if s.info.IsDir() {
		cut, late, err = page.walk(ctx, a)
	} else {
		page.file()
	}
	if err != nil {
		return agent.ToolOutcome{}, err
	}
	out := tool.Text(page.text(cut, late) + l.further(env, s))
	out.Labels, err = l.f.namesLabels(ctx, s, page.names)
	return out, err
}

// further tells of the folders beside the root, with the listing of the root itself.
func (l lister) further(env tool.Env, s *spot) string {
	var b strings.Builder
	if !s.own || s.path != "." {
		return ""
	}
	for _, a := range l.f.areas(env)[1:] {
		if b.Len() == 0 {
			b.WriteString("\nFurther folders, named by their absolute path:\n")
		}
		how := "for reading"
		if a.write {
			how = "for reading and writing"
		}
		fmt.Fprintf(&b, "%s  (%s)\n", quote(filepath.ToSlash(a.base)), how)
	}
	return b.String()
}

// listing collects a page.
type listing struct {
	spot    *spot
	glob    glob
	skip    int
	limit   int
	matched int // entries, those of other pages included
	shown   int
	names   []string
	b       strings.Builder
	full    bool // there are more
}

// walk fills the page. cut: bounds kept it from seeing everything; late: so did its time.
func (l *listing) walk(ctx context.Context, a listArguments) (cut, late bool, err error) {
	timed, cancel := context.WithTimeout(ctx, walkTime)
	defer cancel()
	w := walker{room: l.spot.room, all: a.All, visit: l.add}
	if a.Recursive {
		if w.depth = maxDepth; a.Depth > 0 {
			w.depth = a.Depth - 1
		}
	}
	err = w.walk(timed, l.spot.path)
	if timed.Err() != nil && ctx.Err() == nil {
		return w.cut, true, nil
	}
	return w.cut, false, err
}

// file lists a single file.
func (l *listing) file() {
	l.matched, l.shown = 1, 1
	l.names = []string{path.Base(l.spot.path)}
	l.line(quote(path.Base(l.spot.path)), l.spot.info, entry{path: l.spot.path, mode: l.spot.info.Mode().Type()})
}

// text is the page as the model reads it.
func (l *listing) text(cut, late bool) string {
	var b strings.Builder
	where := quote(l.spot.shown())
	if l.spot.own && l.spot.path == "." {
		where = "The root"
	}
	switch {
	case l.shown > 0:
		fmt.Fprintf(&b, "%s, entries %d to %d (bytes, time in UTC, name):\n%s", where, l.skip+1, l.skip+l.shown, l.b.String())
	case l.matched > 0:
		fmt.Fprintf(&b, "%s has only %d entries here.\n", where, l.matched)
	case l.glob.pattern != "":
		fmt.Fprintf(&b, "Nothing in %s matches the glob.\n", where)
	default:
		fmt.Fprintf(&b, "%s is empty.\n", where)
	}
	switch {
	case l.full:
		fmt.Fprintf(&b, "[there is more: offset %d gives the next page]\n", l.skip+l.shown)
	case late:
		fmt.Fprintf(&b, "[stopped after %s: list a smaller part]\n", walkTime)
	case cut:
		b.WriteString("[not everything was looked at, there is too much: list a smaller part]\n")
	}
	return b.String()
}

func (l *listing) add(e entry) error {
	rel := e.path
	if l.spot.path != "." {
		rel = strings.TrimPrefix(e.path, l.spot.path+"/")
	}
	if !l.glob.match(rel) || l.glob.pattern != "" && e.mode.IsDir() {
		return nil
	}
	l.matched++
	switch {
	case l.matched <= l.skip:
		return nil
	case l.shown >= l.limit || l.b.Len() > listText:
		l.full = true
		return errEnough
	}
	l.shown++
	l.names = append(l.names, path.Base(rel))
	info, err := l.spot.root.Lstat(e.path)
	if err != nil { // it went away meanwhile
		info = nil
	}
	l.line(quote(rel), info, e)
	return nil
}

// line writes an entry: size, time, name, and what is special about it.
func (l *listing) line(name string, info fs.FileInfo, e entry) {
	size, when := "-", "-"
	if info != nil {
		when = info.ModTime().UTC().Format("2006-01-02 15:04")
		if info.Mode().IsRegular() {
			size = fmt.Sprint(info.Size())
		}
	}
	var notes []string
	switch {
	case e.mode.IsDir():
		name += "/"
	case e.mode&fs.ModeSymlink != 0:
		target, err := l.spot.root.Readlink(e.path)
		if err != nil {
			target = "?"
		}
		l.names = append(l.names, target)
		notes = append(notes, "link to "+quote(target))
	case !e.mode.IsRegular():
		notes = append(notes, strings.TrimPrefix(kindOf(e.mode), "a "))
	}
	if e.ignored {
		notes = append(notes, "ignored")
	}
	fmt.Fprintf(&l.b, "%12s  %-16s  %s", size, when, name)
	if len(notes) > 0 {
		fmt.Fprintf(&l.b, "  (%s)", strings.Join(notes, ", "))
	}
	l.b.WriteByte('\n')
}
