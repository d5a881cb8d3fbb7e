package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/uptrace/bun"
)

// maxPrepared bounds the statements a connection keeps. The store has fewer fixed ones:
// the bound only keeps a text that is built anew each time from growing the cache.
const maxPrepared = 160

// fixed is a statement whose text never changes: SQLite parses it once for each connection, not
// once for each use. Its parameters are SQLite's own (?1 is the first of args), where bun would write the
// values into the text. Results are scanned by bun, as with any other query.
func fixed(db bun.IDB, text string, args ...any) *bun.RawQuery {
	b := bound{conn: db, args: args}
	switch db := db.(type) { // below bun, which takes ? for a place of its own
	case bun.Conn:
		b.conn = db.Conn
	case bun.Tx:
		b.conn = db.Tx
	case *bun.DB:
		b.conn = db.DB
	}
	return db.NewRaw(text).Conn(b)
}

// bound runs a text with the arguments of a fixed statement. It is not cancelled midway: it takes less than
// the goroutines that would have to watch for that.
type bound struct {
	conn bun.IConn
	args []any
}

// QueryContext implements bun.IConn.
func (b bound) QueryContext(ctx context.Context, text string, _ ...any) (*sql.Rows, error) {
	return b.conn.QueryContext(context.WithoutCancel(ctx), text, b.args...)
}

// ExecContext implements bun.IConn.
func (b bound) ExecContext(ctx context.Context, text string, _ ...any) (sql.Result, error) {
	return b.conn.ExecContext(context.WithoutCancel(ctx), text, b.args...)
}

// QueryRowContext implements bun.IConn.
func (b bound) QueryRowContext(ctx context.Context, text string, _ ...any) *sql.Row {
	return b.conn.QueryRowContext(context.WithoutCancel(ctx), text, b.args...)
}

// orNull is a text argument that is NULL when there is none, as bun's nullzero writes it.
func orNull[T ~string](v T) any {
	if v == "" {
		return nil
	}
	return string(v)
}

// connector opens connections that keep their fixed statements prepared. A *sql.Stmt would not do: it
// is prepared through the pool, and the writer's only connection is taken by the transaction that needs it.
type connector struct {
	name   string
	driver driver.Driver
}

// Connect implements driver.Connector.
func (c connector) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.driver.Open(c.name)
	if err != nil {
		return nil, err
	}
	lite, ok := conn.(liteConn)
	if !ok {
		return nil, closing(conn, fmt.Errorf("the SQLite driver lacks methods: %T", conn))
	}
	return &preparingConn{liteConn: lite, statements: map[string]*statement{}}, nil
}

// Driver implements driver.Connector.
func (c connector) Driver() driver.Driver { return c.driver }

// liteConn is all that database/sql asks of SQLite's connection. It is named in full, because
// what a wrapper does not pass on, database/sql would do without.
type liteConn interface { //nolint:interfacebloat // the driver names them, not we
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// preparingConn keeps statements that come with arguments prepared, from their first use until it is
// closed. database/sql lets one goroutine at a time use it.
type preparingConn struct {
	liteConn
	statements map[string]*statement
}

// statement is a prepared one; it cannot run again while its rows are being read.
type statement struct {
	driver.Stmt
	query   driver.StmtQueryContext
	exec    driver.StmtExecContext
	reading bool
}

// QueryContext implements driver.QueryerContext.
func (c *preparingConn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	s, err := c.prepared(ctx, text, args)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return c.liteConn.QueryContext(ctx, text, args)
	}
	found, err := s.query.QueryContext(ctx, args)
	if err != nil {
		return nil, err
	}
	s.reading = true
	return &statementRows{Rows: found, of: s}, nil
}

// ExecContext implements driver.ExecerContext.
func (c *preparingConn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	s, err := c.prepared(ctx, text, args)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return c.liteConn.ExecContext(ctx, text, args)
	}
	return s.exec.ExecContext(ctx, args)
}

// prepared returns the statement of a text, nil when it is to run unprepared: without arguments
// bun has written the values into the text, which will not come again.
func (c *preparingConn) prepared(ctx context.Context, text string, args []driver.NamedValue) (*statement, error) {
	if len(args) == 0 {
		return nil, nil
	}
	if s := c.statements[text]; s != nil {
		if s.reading {
			return nil, nil
		}
		return s, nil
	}
	if len(c.statements) == maxPrepared {
		return nil, nil
	}
	made, err := c.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	s := &statement{Stmt: made}
	var queries, execs bool
	s.query, queries = made.(driver.StmtQueryContext)
	s.exec, execs = made.(driver.StmtExecContext)
	if !queries || !execs {
		return nil, closing(made, fmt.Errorf("the SQLite driver lacks methods: %T", made))
	}
	c.statements[text] = s
	return s, nil
}

// Close implements driver.Conn. The statements go first: SQLite keeps a connection that still has some,
// and would not merge the log into the database.
func (c *preparingConn) Close() error {
	var failed []error
	for _, s := range c.statements {
		failed = append(failed, s.Close())
	}
	clear(c.statements)
	return errors.Join(append(failed, c.liteConn.Close())...)
}

// statementRows frees its statement for the next use when it is closed.
type statementRows struct {
	driver.Rows
	of *statement
}

// Close implements driver.Rows.
func (r *statementRows) Close() error {
	r.of.reading = false
	return r.Rows.Close()
}
