package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uptrace/bun"

	"ash/agent"
	"ash/agent/identity"
	"ash/migrations"
)

// Options say which database to open.
type Options struct {
	Path   string       // of the database file; its folder is made when missing
	Logger *slog.Logger // nil discards
}

// Store is an open database. Its methods may be called from any goroutine.
// The zero value is not usable; call Open, and Close when done.
type Store struct {
	path      string
	logger    *slog.Logger
	writer    *bun.DB // one connection, immediate transactions
	reader    *bun.DB // query-only connections
	warming   sync.WaitGroup
	ledgerKey []byte
	graves    atomic.Pointer[graveKeys]
	unclean   bool
	damaged   atomic.Bool
}

// The ports a Store implements.
var (
	_ agent.ThreadStore  = (*Store)(nil)
	_ agent.TurnStore    = (*Store)(nil)
	_ agent.ReplyStore   = (*Store)(nil)
	_ agent.CallStore    = (*Store)(nil)
	_ agent.HistoryStore = (*Store)(nil)
	_ agent.Reader       = (*Store)(nil)
	_ agent.Recoverer    = (*Store)(nil)
	_ agent.PersonStore  = (*Store)(nil)
	_ agent.Ledger       = (*Store)(nil)
	_ identity.Versions  = (*Store)(nil)
)

// Open opens the database at o.Path, makes it when there is none, and brings an
// older one to this binary's schema after a snapshot into backups/. It reads the
// header and the schema's version, nothing that grows with the data.
//
// Errors: CodeConflict for a database of a newer Ash or of another program,
// CodeUnavailable for a damaged one or one that cannot be reached.
func Open(ctx context.Context, o Options) (*Store, error) {
	set, err := migrations.All()
	if err != nil {
		return nil, agent.Wrap(agent.CodeInternal, err, "Ash's own schema cannot be read.")
	}
	return open(ctx, o, set)
}

func open(ctx context.Context, o Options, set []migrations.Migration) (*Store, error) {
	s, err := connect(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := s.start(ctx, set); err != nil {
		return nil, errors.Join(s.translate(err), s.disconnect())
	}
	return s, nil
}

// connect opens the file without a look at the schema.
func connect(ctx context.Context, o Options) (*Store, error) {
	s := &Store{path: o.Path, logger: o.Logger}
	if s.logger == nil {
		s.logger = slog.New(slog.DiscardHandler)
	}
	var err error
	if s.path, err = filepath.Abs(o.Path); err != nil {
		return nil, s.translate(err)
	}
	if err := prepareFile(s.path); err != nil {
		return nil, s.translate(err)
	}
	if err := s.noteUnclean(); err != nil {
		return nil, s.translate(err)
	}
	s.reader = openReader(s.path)
	s.warm(ctx)
	if s.writer, err = openWriter(ctx, s.path); err != nil {
		s.warming.Wait()
		return nil, s.translate(errors.Join(err, s.reader.Close()))
	}
	return s, nil
}

// start brings the schema up to date and reads what every Store needs.
func (s *Store) start(ctx context.Context, set []migrations.Migration) error {
	if _, err := s.migrate(ctx, set); err != nil {
		return err
	}
	err := s.writer.NewSelect().Table("properties").Column("value").
		Where("name = 'ledger_key'").Scan(ctx, &s.ledgerKey)
	if err != nil {
		return fmt.Errorf("read ledger key: %w", err)
	}
	return s.loadGraveKeys(ctx)
}

// Close ends all connections and marks the stop as clean: the write-ahead log is
// merged into the database and removed. Callers stop using the Store before.
func (s *Store) Close() error {
	return s.translate(s.disconnect())
}

func (s *Store) disconnect() error {
	s.warming.Wait()
	// The writer goes last: the last connection to close merges the log, and
	// a query-only one may not.
	return errors.Join(s.reader.Close(), s.writer.Close())
}

// write runs fn in the one write transaction there is at a time. Once begun it is not cancelled: breaking off would
// tear down the writer's connection.
func (s *Store) write(ctx context.Context, fn func(ctx context.Context, tx bun.IDB) error) error {
	if err := ctx.Err(); err != nil {
		return s.translate(err)
	}
	if err := s.Writable(); err != nil {
		return err
	}
	return s.translate(transact(context.WithoutCancel(ctx), s.writer, "BEGIN IMMEDIATE", fn))
}

// read runs fn over one snapshot of the database.
func (s *Store) read(ctx context.Context, fn func(ctx context.Context, tx bun.IDB) error) error {
	if err := ctx.Err(); err != nil {
		return s.translate(err)
	}
	return s.translate(transact(ctx, s.reader, "BEGIN", fn))
}

// transact runs fn in a transaction on one connection of db. It speaks to SQLite itself: a *sql.Tx has a
// goroutine of its own and one for each query, which watch for a cancellation, and starting them is a good part of
// what a small statement takes.
func transact(ctx context.Context, db *bun.DB, begin string, fn func(ctx context.Context, tx bun.IDB) error) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // gives it back to the pool
	whole := context.WithoutCancel(ctx)
	if _, err := conn.Conn.ExecContext(whole, begin); err != nil {
		return err
	}
	committed := false
	defer func() {
		if !committed { // it failed, or fn panicked
			takeBack(whole, conn.Conn)
		}
	}()
	if err := fn(ctx, conn); err != nil {
		return err
	}
	_, err = conn.Conn.ExecContext(whole, "COMMIT")
	committed = err == nil
	return err
}

// takeBack ends a transaction that is not to be. A connection that cannot (SQLite may have done it by itself, as on a
// full disk) is closed rather than given to the next in a state nobody knows.
func takeBack(ctx context.Context, conn *sql.Conn) {
	if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // says only what it was told
	}
}

// now returns the present as it will be read back.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// prepareFile makes the folder and an empty database file nobody else can read, or
// refuses a file whose header says that it is no SQLite database.
func prepareFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make folder of the database: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return createFile(path)
	}
	if err != nil {
		return fmt.Errorf("open database file: %w", err)
	}
	return closing(f, checkFile(f))
}

// createFile begins a database. SQLite would drop a log that lies beside an empty
// file; such a log is all that is left of a database, so it is refused instead.
func createFile(path string) error {
	if err := checkLog(path); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("make database file: %w", err)
	}
	return closing(f, nil)
}

func checkFile(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("look at database file: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		if err := f.Chmod(0o600); err != nil {
			return fmt.Errorf("protect database file: %w", err)
		}
	}
	return checkHeader(f, info.Size())
}

// touched reports whether a statement changed a row. SQLite always knows.
func touched(r sql.Result) bool {
	n, err := r.RowsAffected()
	return err == nil && n > 0
}
