package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/uptrace/bun"

	"ash/agent"
)

// conn runs fn on the driver's connection of the writer.
func (f *fixture) conn(fn func(*preparingConn)) {
	f.t.Helper()
	c, err := f.writer.DB.Conn(f.ctx)
	f.ok(err)
	defer func() { f.ok(c.Close()) }()
	f.ok(c.Raw(func(raw any) error {
		fn(raw.(*preparingConn))
		return nil
	}))
}

func TestFixedStatementsArePreparedOnce(t *testing.T) {
	f := newFixture(t)
	f.exchange("q", "a")
	known := map[string]*statement{}
	f.conn(func(c *preparingConn) {
		for text, s := range c.statements {
			known[text] = s
		}
	})
	if len(known) == 0 {
		t.Fatal("nothing was prepared")
	}
	f.exchange("q", "a")
	f.conn(func(c *preparingConn) {
		if len(c.statements) != len(known) {
			t.Errorf("%d statements became %d", len(known), len(c.statements))
		}
		for text, s := range c.statements {
			if known[text] != s {
				t.Errorf("prepared again: %s", text)
			}
		}
	})
}

func TestPreparedStatementsAreBounded(t *testing.T) {
	f := newFixture(t)
	for i := range 2 * maxPrepared {
		var n int
		f.ok(fixed(f.writer, fmt.Sprintf("SELECT ?1 + %d", i), 1).Scan(f.ctx, &n))
		equal(t, n, 1+i)
	}
	f.conn(func(c *preparingConn) { equal(t, len(c.statements), maxPrepared) })
}

// A statement inside the reading of itself must not take the rows away from the outer one.
func TestFixedStatementWithinItself(t *testing.T) {
	f := newFixture(t)
	const text = "SELECT value FROM json_each(?1)"
	read := func(rows driver.Rows) (list []any) {
		for {
			row := make([]driver.Value, 1)
			err := rows.Next(row)
			if errors.Is(err, io.EOF) {
				return list
			}
			f.ok(err)
			list = append(list, row[0])
		}
	}
	argument := func(s string) []driver.NamedValue { return []driver.NamedValue{{Ordinal: 1, Value: s}} }
	f.conn(func(c *preparingConn) {
		outer, err := c.QueryContext(f.ctx, text, argument("[1, 2]"))
		f.ok(err)
		inner, err := c.QueryContext(f.ctx, text, argument("[3]"))
		f.ok(err)
		equal(t, read(inner), []any{int64(3)})
		f.ok(inner.Close())
		equal(t, read(outer), []any{int64(1), int64(2)})
		f.ok(outer.Close())
	})
}

func TestFixedStatementFailsAndGoesOn(t *testing.T) {
	f := newFixture(t)
	const text = "INSERT INTO properties (name, value) VALUES (?1, x'00')"
	_, err := fixed(f.writer, text, "a").Exec(f.ctx)
	f.ok(err)
	_, err = fixed(f.writer, text, "a").Exec(f.ctx)
	f.fails(f.translate(err), agent.CodeConflict)
	_, err = fixed(f.writer, text, "b").Exec(f.ctx)
	f.ok(err)
	if _, err = fixed(f.writer, "SELECT nothing FROM nowhere WHERE x = ?1", 1).Exec(f.ctx); err == nil {
		t.Error("a statement without sense was prepared")
	}
	err = f.writer.RunInTx(f.ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		if _, err := fixed(tx, text, "c").Exec(ctx); err != nil {
			return err
		}
		return sql.ErrTxDone
	})
	if !errors.Is(err, sql.ErrTxDone) {
		t.Fatal(err)
	}
	var n int
	f.ok(fixed(f.reader, "SELECT count(*) FROM properties WHERE name IN (?1, ?2, ?3)", "a", "b", "c").Scan(f.ctx, &n))
	equal(t, n, 2)
}

// A statement prepared before the schema changed gives the columns there are now.
func TestFixedStatementSeesTheNewSchema(t *testing.T) {
	f := newFixture(t)
	_, err := f.writer.ExecContext(f.ctx, "CREATE TABLE p (a INTEGER); INSERT INTO p VALUES (1)")
	f.ok(err)
	columns := func() []string {
		rows, err := f.writer.DB.QueryContext(f.ctx, "SELECT * FROM p WHERE a = ?1", 1)
		f.ok(err)
		defer func() { f.ok(rows.Close()) }()
		names, err := rows.Columns()
		f.ok(err)
		f.ok(rows.Err())
		return names
	}
	equal(t, columns(), []string{"a"})
	_, err = f.writer.ExecContext(f.ctx, "ALTER TABLE p ADD COLUMN b INTEGER")
	f.ok(err)
	equal(t, columns(), []string{"a", "b"})
}

// Statements that were left would keep the log from being merged.
func TestCloseEndsPreparedStatements(t *testing.T) {
	f := newFixture(t)
	f.exchange("q", "a")
	_, err := f.Tail(f.ctx, f.thread)
	f.ok(err)
	f.ok(f.Close())
	if _, err := os.Stat(f.path + "-wal"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the log is still there: %v", err)
	}
}
