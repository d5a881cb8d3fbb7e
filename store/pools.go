package store

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	"github.com/uptrace/bun/driver/sqliteshim"
)

const (
	// readers bounds the connections that read side by side.
	readers = 4
	// idleReader is how long an unused reader keeps its connection and page cache.
	idleReader = time.Minute
	// writerCache and readerCache bound what the connections keep of the database, in KiB where negative
	// (https://www.sqlite.org/pragma.html#pragma_cache_size). The system has the file in memory as well:
	// what SQLite's usual 2 MB on every connection save is less than they weigh, which is twice their size, since
	// a page takes 8 KB. The bounds are one for all together: of these 768 KiB the writer takes what readers leave. A reader's pages
	// are worthless as soon as something is written, so it needs them within a query only.
	writerCache = "_pragma=cache_size(-384)"
	readerCache = "_pragma=cache_size(-96)"
)

// dsn returns the name that opens path with settings for every connection of a
// pool: a pragma sent to a pool later would reach only one of them.
func dsn(path string, settings ...string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // file:///C:/… on Windows
	}
	u := url.URL{Scheme: "file", OmitHost: true, Path: path}
	common := []string{
		"_busy_timeout=5000",
		"_foreign_keys=1",
		"_dqs=0",       // "x" is a name, never a text
		"_defensive=1", // no SQL of ours may damage the file
		"_pragma=trusted_schema(0)",
		"_pragma=temp_store(memory)", // sorting never puts text on the disk
	}
	return u.String() + "?" + strings.Join(append(common, settings...), "&")
}

// openWriter opens the one connection that writes.
func openWriter(ctx context.Context, path string) (*bun.DB, error) {
	db := openPool(dsn(path,
		"_txlock=immediate",
		"_journal_mode=WAL",
		writerCache,
		"_synchronous=FULL",
		"_pragma=secure_delete(1)",
		"_pragma=journal_size_limit(8388608)",
	))
	db.SetMaxOpenConns(1)
	db.SetMaxIdleConns(1)
	if err := db.PingContext(ctx); err != nil {
		return nil, closing(db, fmt.Errorf("open database: %w", err))
	}
	return db, nil
}

// openReader opens the pool that reads. Its connections are made when needed.
func openReader(path string) *bun.DB {
	db := openPool(dsn(path, readerCache, "_query_only=1"))
	db.SetMaxOpenConns(readers)
	db.SetMaxIdleConns(readers)
	db.SetConnMaxIdleTime(idleReader)
	return db
}

// warm opens the first reader while the writer is being opened: reading the schema is most of the work of both, and a start
// needs both. Whoever reads meanwhile waits for this one instead of opening another. What goes wrong is told to whoever reads next.
func (s *Store) warm(ctx context.Context) {
	if !logged(s.path) {
		return
	}
	s.reader.SetMaxOpenConns(1)
	s.warming.Go(func() {
		_ = s.reader.PingContext(context.WithoutCancel(ctx)) // it is waited for
		s.reader.SetMaxOpenConns(readers)
	})
}

// logged reports whether a database has a write-ahead log, as all have that Ash opened before: while one is given its log,
// nobody else may look at it (https://www.sqlite.org/fileformat.html, bytes 18 and 19).
func logged(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // nothing was written
	version := make([]byte, 2)
	_, err = f.ReadAt(version, 18)
	return err == nil && version[0] == 2 && version[1] == 2
}

// openAside opens a connection for work that must hold up neither pool.
func openAside(path string) *bun.DB {
	db := openPool(dsn(path, readerCache))
	db.SetMaxOpenConns(1)
	return db
}

// openPool makes a pool; its connections are opened when needed.
func openPool(name string) *bun.DB {
	return bun.NewDB(sql.OpenDB(connector{name: name, driver: sqliteshim.Driver()}), sqlitedialect.New())
}
