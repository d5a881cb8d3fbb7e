package files_test

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"ash/agent"
	"ash/agent/tool/files"
)

// paths are refused by every tool, in words a model can act on.
var paths = []struct {
	name, path string
	code       agent.Code
	words      string
}{
	{"parent", "../secret.txt", agent.CodeDenied, "leads out"},
	{"parent in the middle", "a/../../secret.txt", agent.CodeDenied, "leads out"},
	{"parent behind a missing folder", "missing/../../secret.txt", agent.CodeDenied, "leads out"},
	{"absolute", "/etc/passwd", agent.CodeDenied, "leads out"},
	{"absolute with double slash", "//etc/passwd", agent.CodeDenied, "leads out"},
	{"home", "~/secret.txt", agent.CodeInvalid, "~ means nothing"},
	{"home and up", "~/../../x", agent.CodeInvalid, "~ means nothing"},
	{"kernel", "/proc/self/environ", agent.CodeDenied, "leads out"},
	{"line break", "a\nb", agent.CodeInvalid, "line break (U+000A)"},
	{"carriage return", "a\rb", agent.CodeInvalid, "line break"},
	{"line separator", "a\u2028b", agent.CodeInvalid, "line break"},
	{"escape", "a\x1b[2Jb", agent.CodeInvalid, "control character"},
	{"NUL", "a\x00b", agent.CodeInvalid, "NUL"},
	{"right to left", "gpj.\u202eexe", agent.CodeInvalid, "direction"},
	{"zero width", "a\u200bb", agent.CodeInvalid, "invisible"},
	{"long name", strings.Repeat("n", 256), agent.CodeInvalid, "too long"},
	{"long path", strings.Repeat("a/", 3000) + "a", agent.CodeInvalid, "too long"},
}

func TestHostilePathsAreRefusedByEveryTool(t *testing.T) {
	d := newDesk(t)
	outside := filepath.Join(filepath.Dir(d.root), "secret.txt")
	d.ok(os.WriteFile(outside, []byte("outside"), 0o600))
	for _, c := range paths {
		t.Run(c.name, func(t *testing.T) {
			d := *d
			d.t = t
			for _, name := range []string{"file_list", "file_read", "file_search"} {
				d.refuses(c.code, c.words, name, arguments{"path": c.path, "pattern": "x"}.only(name))
			}
			d.refuses(c.code, c.words, "file_edit", arguments{"path": c.path, "edits": []arguments{{"old": "a", "new": "b"}}})
			d.refuses(c.code, c.words, "file_write", arguments{"path": c.path, "content": "x"})
		})
	}
	if got, err := os.ReadFile(outside); err != nil || string(got) != "outside" {
		t.Errorf("the file outside holds %q (%v)", got, err)
	}
}

// only leaves out what a tool does not take.
func (a arguments) only(name string) arguments {
	if name != "file_search" {
		delete(a, "pattern")
	} else {
		a["pattern"] = "x"
	}
	return a
}

func TestPathsInsideAreTaken(t *testing.T) {
	d := newDesk(t, func(o *files.Options) { o.Mount = "/work" })
	d.put("dir/a.txt", "inside\n")
	for _, p := range []string{"dir/a.txt", "./dir/a.txt", "dir//a.txt", "dir/../dir/a.txt", d.at("dir/a.txt"), "/work/dir/a.txt"} {
		contains(t, d.does("file_read", arguments{"path": p}), "dir/a.txt, lines 1 to 1 of 1", "1\tinside")
	}
	d.refuses(agent.CodeDenied, "leads out", "file_read", arguments{"path": "/work/../etc/passwd"})
	d.refuses(agent.CodeDenied, "leads out", "file_read", arguments{"path": "/works/a.txt"})
	d.put("زبان\u200cها.txt", "joiners are part of words\n") // with a zero-width non-joiner
	d.does("file_read", arguments{"path": "زبان\u200cها.txt"})
}

func TestNewNamesFitEverySystem(t *testing.T) {
	d := newDesk(t)
	for _, name := range []string{"CON", "nul.txt", "com1.tar.gz", "LPT¹", "aux .c", "a:b", "a|b", `a\b`, "what?", "dot.", "space ", " space", ".ash-writing-x", "new/prn/x"} {
		d.refuses(agent.CodeInvalid, "", "file_write", arguments{"path": name, "content": "x\n"})
	}
	for _, name := range []string{"console.txt", "com.txt", "com10.txt", "nul-l", ".hidden", "ünï/日本.md", "a b.txt"} {
		d.does("file_write", arguments{"path": name, "content": "x\n"})
	}
	if runtime.GOOS != "windows" { // what is there already can be used
		d.put("drivers/aux.c", "int x;\n")
		d.does("file_edit", arguments{"path": "drivers/aux.c", "edits": []arguments{{"old": "x", "new": "y"}}})
	}
	d.clean()
}

func TestGitsOwnFilesAreNotWritten(t *testing.T) {
	d := newDesk(t)
	d.put(".git/config", "[core]\n")
	d.put("sub/.git/hooks/keep", "")
	for _, p := range []string{".git/hooks/pre-commit", ".git/config", "sub/.git/hooks/post-checkout", ".GIT/config", ".Git./config", "git~1/config", ".git"} {
		_, err := d.plan("file_write", arguments{"path": p, "content": "evil\n"})
		if code := agent.CodeOf(err); code != agent.CodeDenied && code != agent.CodeInvalid {
			t.Errorf("%s: %v", p, err)
		}
	}
	d.ok(os.Symlink(".git", d.at("innocent")))
	d.refuses(agent.CodeDenied, ".git", "file_write", arguments{"path": "innocent/hooks/pre-commit", "content": "x"})
	d.refuses(agent.CodeDenied, ".git", "file_edit", arguments{"path": ".git/config", "edits": []arguments{{"old": "core", "new": "x"}}})
	contains(t, d.does("file_read", arguments{"path": ".git/config"}), "[core]")
	d.does("file_write", arguments{"path": ".gitignore", "content": "x\n"})
}

func TestLinks(t *testing.T) {
	d := newDesk(t)
	outside := t.TempDir()
	d.ok(os.WriteFile(filepath.Join(outside, "secret"), []byte("outside"), 0o600))
	d.put("real/a.txt", "inside\n")
	for link, target := range map[string]string{
		"out": outside, "out-file": filepath.Join(outside, "secret"), "up": "..", "up-and-in": "../root/real",
		"loop1": "loop2", "loop2": "loop1", "self": "self", "deep/loop": "../deep/loop/x",
		"in": "real", "in-file": "real/a.txt", "abs-in": d.at("real"), "dangling": "real/new.txt", "chain": "in",
	} {
		d.ok(os.MkdirAll(filepath.Dir(d.at(link)), 0o755))
		d.ok(os.Symlink(target, d.at(link)))
	}
	for _, p := range []string{"out/secret", "out-file", "up/secret", "up-and-in/a.txt"} {
		d.refuses(agent.CodeDenied, "leads out", "file_read", arguments{"path": p})
		d.refuses(agent.CodeDenied, "leads out", "file_write", arguments{"path": p, "content": "x"})
	}
	for _, p := range []string{"loop1", "self", "self/x", "deep/loop"} {
		d.refuses(agent.CodeInvalid, "circles", "file_read", arguments{"path": p})
	}
	for _, p := range []string{"in/a.txt", "in-file", "abs-in/a.txt", "chain/a.txt"} {
		contains(t, d.does("file_read", arguments{"path": p}), "real/a.txt, lines 1") // named by where it really is
	}
	d.does("file_write", arguments{"path": "in-file", "content": "through the link\n"})
	d.holds("real/a.txt", "through the link\n")
	d.does("file_write", arguments{"path": "dangling", "content": "made\n"})
	d.holds("real/new.txt", "made\n")
	if target, err := os.Readlink(d.at("in-file")); err != nil || target != "real/a.txt" {
		t.Errorf("the link became %q (%v)", target, err)
	}
	// A walk follows none of them.
	text := d.does("file_search", arguments{"pattern": "outside|through"})
	contains(t, text, "1 lines match in 1 files")
	text = d.does("file_list", arguments{"recursive": true})
	contains(t, text, "(link to "+outside+")", "(link to self)")
	lacks(t, text, "out/secret")
}

func TestOnlyOrdinaryFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no such files on Windows")
	}
	d := newDesk(t)
	special := specials(t, d)
	l, err := net.Listen("unix", d.at("socket"))
	d.ok(err)
	defer l.Close()
	special["socket"] = "a socket"
	d.ok(os.Mkdir(d.at("folder"), 0o755))
	special["folder"] = "a folder"
	begun := time.Now()
	for p, what := range special {
		d.refuses(agent.CodeInvalid, what, "file_read", arguments{"path": p})
		d.refuses(agent.CodeInvalid, what, "file_write", arguments{"path": p, "content": "x"})
		d.refuses(agent.CodeInvalid, what, "file_edit", arguments{"path": p, "edits": []arguments{{"old": "a", "new": "b"}}})
		if p != "folder" {
			d.refuses(agent.CodeInvalid, what, "file_search", arguments{"path": p, "pattern": "x"})
			d.refuses(agent.CodeInvalid, "not a folder", "file_read", arguments{"path": p + "/x"})
		}
	}
	contains(t, d.does("file_search", arguments{"pattern": "."}), "Nothing matches")
	contains(t, d.does("file_list", arguments{}), "(named pipe)", "(socket)")
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("something waited: %s", took)
	}
}

func TestFoldersOfTheSystemAndOfAsh(t *testing.T) {
	home := t.TempDir()
	for _, p := range []string{"vault/identity.age", "ash.db", "workspace/SOUL.md", "workspace/files/mine.txt", "workspace/files2/x"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(home, p)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, p), []byte("findme\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := newDesk(t, func(o *files.Options) { o.Home = home })
	try := func(root, path string, code agent.Code) {
		t.Helper()
		d.env.Root = root
		_, _, err := d.call("file_read", arguments{"path": path})
		if agent.CodeOf(err) != code {
			t.Errorf("%s in %s: %v, want %q", path, root, err, code)
		}
	}
	try(filepath.Join(home, "workspace", "files"), "mine.txt", "")
	try(filepath.Dir(home), filepath.Base(home)+"/ash.db", agent.CodeDenied)
	try(filepath.Dir(home), filepath.Base(home)+"/workspace/files/mine.txt", agent.CodeDenied)
	for _, inside := range []string{"", "vault", "workspace", "workspace/files2"} {
		try(filepath.Join(home, inside), "identity.age", agent.CodeDenied)
	}
	elsewhere := newDesk(t, func(o *files.Options) {
		o.Home, o.Own = home, func() string { return filepath.Join(home, "workspace", "files2") }
	})
	elsewhere.env.Root = filepath.Join(home, "workspace", "files2")
	elsewhere.does("file_read", arguments{"path": "x"})
	elsewhere.env.Root = filepath.Join(home, "workspace", "files")
	elsewhere.refuses(agent.CodeDenied, "its own data", "file_read", arguments{"path": "mine.txt"})
	d.env.Root = filepath.Dir(home)
	contains(t, d.does("file_search", arguments{"pattern": "findme", "all": true}), "Nothing matches")
	d.ok(os.Symlink(home, filepath.Join(filepath.Dir(home), "way-in")))
	try(filepath.Dir(home), "way-in/ash.db", agent.CodeDenied)
	try("", "x", agent.CodeUnavailable)
	try("relative", "x", agent.CodeUnavailable)
	if runtime.GOOS == "linux" {
		try("/", "proc/new", agent.CodeDenied)
		try("/proc", "self/environ", agent.CodeDenied)
		try("/sys/kernel", "x", agent.CodeDenied)
		try("/", "proc/self/environ", agent.CodeDenied)
		try("/", "dev/null", agent.CodeDenied)
	}
}

func TestFurtherFolders(t *testing.T) {
	d := newDesk(t)
	extra, nested := t.TempDir(), t.TempDir()
	d.ok(os.WriteFile(filepath.Join(extra, "b.txt"), []byte("further\n"), 0o644))
	d.ok(os.Mkdir(filepath.Join(nested, "writable"), 0o755))
	d.folders = []files.Folder{{Path: extra}, {Path: nested}, {Path: filepath.Join(nested, "writable"), Write: true}, {Path: "relative"}}
	text := d.does("file_list", arguments{})
	contains(t, text, "Further folders", extra+"  (for reading)", filepath.Join(nested, "writable")+"  (for reading and writing)")
	lacks(t, text, "relative")
	contains(t, d.does("file_read", arguments{"path": filepath.Join(extra, "b.txt")}), filepath.Join(extra, "b.txt")+", lines", "further")
	contains(t, d.does("file_search", arguments{"path": extra, "pattern": "further"}), filepath.Join(extra, "b.txt"))
	d.refuses(agent.CodeDenied, "reading only", "file_write", arguments{"path": filepath.Join(extra, "c.txt"), "content": "x\n"})
	d.refuses(agent.CodeDenied, "reading only", "file_edit", arguments{"path": filepath.Join(extra, "b.txt"), "edits": []arguments{{"old": "f", "new": "g"}}})
	d.refuses(agent.CodeDenied, "reading only", "file_write", arguments{"path": filepath.Join(nested, "c.txt"), "content": "x\n"})
	p, err := d.plan("file_write", arguments{"path": filepath.Join(nested, "writable", "c.txt"), "content": "x\n"})
	d.ok(err)
	if p.Effect.Target != filepath.Join(nested, "writable", "c.txt") {
		t.Errorf("target is %q", p.Effect.Target)
	}
	d.does("file_write", arguments{"path": filepath.Join(nested, "writable", "c.txt"), "content": "x\n"})
	d.refuses(agent.CodeDenied, "leads out", "file_read", arguments{"path": extra + "/../" + filepath.Base(d.root) + "/x"})
	d.refuses(agent.CodeDenied, "leads out", "file_read", arguments{"path": extra + "2/b.txt"})
	d.folders = []files.Folder{{Path: filepath.Join(extra, "gone")}}
	d.refuses(agent.CodeNotFound, "does not exist", "file_list", arguments{"path": filepath.Join(extra, "gone")})
}
