package store

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"ash/agent"
	"ash/migrations"
)

// nextSet is the real schema with two further steps.
func nextSet(t *testing.T) []migrations.Migration {
	t.Helper()
	set, err := migrations.All()
	if err != nil {
		t.Fatal(err)
	}
	more, err := migrations.Read(fstest.MapFS{
		"0001_a.up.sql":   {Data: []byte("CREATE TABLE colours (name TEXT PRIMARY KEY) STRICT; INSERT INTO colours VALUES ('what?');")},
		"0001_a.down.sql": {Data: []byte("DROP TABLE colours;")},
		"0002_b.up.sql":   {Data: []byte("ALTER TABLE colours ADD COLUMN shade INTEGER NOT NULL DEFAULT 0;")},
		"0002_b.down.sql": {Data: []byte("ALTER TABLE colours DROP COLUMN shade;")},
	})
	if err != nil {
		t.Fatal(err)
	}
	known := len(set)
	for _, m := range more {
		m.Version += known
		set = append(set, m)
	}
	return set
}

// closed makes a database with one message and closes it.
func closed(t *testing.T) (Options, agent.ID) {
	t.Helper()
	o := Options{Path: filepath.Join(t.TempDir(), "ash.db")}
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{Store: s, t: t, ctx: t.Context()}
	f.thread = f.newThreadOf("")
	id := f.post("kept").Message.ID
	f.ok(s.Close())
	return o, id
}

func (f *fixture) newThreadOf(title string) agent.ID {
	id := agent.NewID()
	f.ok(f.CreateThread(f.ctx, agent.Thread{ID: id, Title: title, Origin: agent.Origin{Channel: "web"}}))
	return id
}

func snapshots(t *testing.T, o Options) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(backupFolder(o.Path), "*"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestMigrateAndRollback(t *testing.T) {
	o, message := closed(t)
	equal(t, len(snapshots(t, o)), 0)
	set := nextSet(t)
	s, err := open(t.Context(), o, set)
	if err != nil {
		t.Fatal(err)
	}
	var shade string
	if err := s.reader.NewRaw("SELECT name || shade FROM colours").Scan(t.Context(), &shade); err != nil || shade != "what?0" {
		t.Fatalf("%q, %v", shade, err)
	}
	taken := snapshots(t, o)
	equal(t, len(taken), 1)
	if info, err := os.Stat(taken[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("snapshot: %v, %v", info, err)
	}
	change, err := s.rollback(t.Context(), set, 1)
	if err != nil {
		t.Fatal(err)
	}
	if change.From != len(set) || change.To != len(set)-1 || change.Snapshot == "" {
		t.Errorf("change is %+v", change)
	}
	if err := s.reader.NewRaw("SELECT shade FROM colours").Scan(t.Context(), &shade); err == nil {
		t.Error("the column is still there")
	}
	if _, err := s.rollback(t.Context(), set, 1); err != nil {
		t.Fatal(err)
	}
	_, err = s.rollback(t.Context(), set, 99)
	equal(t, agent.CodeOf(err), agent.CodeInvalid)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	s = openAt(t, o.Path) // the plain schema again
	if m, err := s.Message(t.Context(), message); err != nil || m.Text() != "kept" {
		t.Errorf("%q, %v", m.Text(), err)
	}
	old := openAt(t, taken[0]) // a snapshot is a whole database
	if m, err := old.Message(t.Context(), message); err != nil || m.Text() != "kept" {
		t.Errorf("%q, %v", m.Text(), err)
	}
}

func TestAFailingMigrationChangesNothing(t *testing.T) {
	o, message := closed(t)
	set := nextSet(t)
	set[len(set)-1].Up = "CREATE TABLE half (x INTEGER) STRICT; SELECT nonsense;"
	if _, err := open(t.Context(), o, set); agent.CodeOf(err) != agent.CodeInternal {
		t.Fatalf("got %v", err)
	}
	set = set[:len(set)-1]
	s, err := open(t.Context(), o, set)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if found, err := s.reader.NewSelect().Table("sqlite_schema").Where("name = 'half'").Exists(t.Context()); err != nil || found {
		t.Errorf("half a migration stayed: %v, %v", found, err)
	}
	if _, err := s.Message(t.Context(), message); err != nil {
		t.Error(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	cases := map[string]struct {
		spoil func(t *testing.T, o Options)
		code  agent.Code
	}{
		"a newer schema": {func(t *testing.T, o Options) {
			s, err := open(t.Context(), o, nextSet(t))
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}, agent.CodeConflict},
		"a schema of an unknown build": {func(t *testing.T, o Options) { alter(t, o, "UPDATE schema_migrations SET checksum = 'x'") }, agent.CodeConflict},
		"another program's database": {func(t *testing.T, o Options) {
			alter(t, o, "DROP TABLE schema_migrations")
		}, agent.CodeConflict},
		"another application's mark": {func(t *testing.T, o Options) { alter(t, o, "PRAGMA application_id = 7") }, agent.CodeConflict},
		"a file that is no database": {func(t *testing.T, o Options) { overwrite(t, o.Path, 0, "not a database at all") }, agent.CodeUnavailable},
		"a damaged schema page":      {func(t *testing.T, o Options) { overwrite(t, o.Path, 100, string(make([]byte, 3000))) }, agent.CodeUnavailable},
		"a database cut short":       {func(t *testing.T, o Options) { truncate(t, o.Path, 50) }, agent.CodeUnavailable},
		"an empty file beside snapshots": {func(t *testing.T, o Options) {
			if err := Backup(t.Context(), o, filepath.Join(mkdir(t, backupFolder(o.Path)), "b.db")); err != nil {
				t.Fatal(err)
			}
			truncate(t, o.Path, 0)
		}, agent.CodeUnavailable},
		"a log without its database": {func(t *testing.T, o Options) {
			if err := os.Rename(o.Path, o.Path+"-wal"); err != nil {
				t.Fatal(err)
			}
		}, agent.CodeUnavailable},
		"a folder in its place": {func(t *testing.T, o Options) {
			if err := os.Remove(o.Path); err != nil {
				t.Fatal(err)
			}
			mkdir(t, o.Path)
		}, agent.CodeInternal},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			o, _ := closed(t)
			c.spoil(t, o)
			before, _ := os.ReadFile(o.Path)
			s, err := Open(t.Context(), o)
			if err == nil {
				s.Close()
			}
			if agent.CodeOf(err) != c.code {
				t.Fatalf("got %v, want %s", err, c.code)
			}
			if after, _ := os.ReadFile(o.Path); string(after) != string(before) {
				t.Error("the file was changed")
			}
		})
	}
}

func TestMaintenance(t *testing.T) {
	ctx := context.Background()
	missing := Options{Path: filepath.Join(t.TempDir(), "none.db")}
	for name, err := range map[string]error{
		"status":  second(Status(ctx, missing)),
		"migrate": second(Migrate(ctx, missing)),
		"backup":  Backup(ctx, missing, missing.Path+"2"),
		"check":   Check(ctx, missing),
	} {
		if agent.CodeOf(err) != agent.CodeNotFound || exists(missing.Path) {
			t.Errorf("%s: %v", name, err)
		}
	}
	o, message := closed(t)
	schema, err := Status(ctx, o)
	if err != nil || schema.Version != schema.Known || schema.Version == 0 || schema.Steps[0].Applied.IsZero() {
		t.Errorf("schema is %+v, %v", schema, err)
	}
	if err := Check(ctx, o); err != nil {
		t.Error(err)
	}
	change, err := Rollback(ctx, o, schema.Version)
	if err != nil || change.To != 0 {
		t.Fatalf("change is %+v, %v", change, err)
	}
	if schema, err = Status(ctx, o); err != nil || schema.Version != 0 || !schema.Steps[0].Applied.IsZero() {
		t.Errorf("schema is %+v, %v", schema, err)
	}
	if up, err := Migrate(ctx, o); err != nil || up.To != schema.Known || up.Snapshot != "" {
		t.Errorf("change is %+v, %v", up, err)
	}
	s := openAt(t, change.Snapshot)
	if _, err := s.Message(ctx, message); err != nil {
		t.Error(err)
	}
}

func second[T any](_ T, err error) error { return err }

func alter(t *testing.T, o Options, statement string) {
	t.Helper()
	s, err := connect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.writer.DB.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func overwrite(t *testing.T, path string, at int64, with string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte(with), at); err != nil {
		t.Fatal(err)
	}
}

func truncate(t *testing.T, path string, size int64) {
	t.Helper()
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}
