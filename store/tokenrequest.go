package store

import (
	"context"
	"crypto/subtle"
	"database/sql"
	"errors"
	"time"

	"github.com/uptrace/bun"

	"ash/agent"
)

// requestsKept is how long it is known which memory a request made.
const requestsKept = 30 * 24 * time.Hour

type requestRow struct {
	bun.BaseModel `bun:"table:api_requests,alias:q"`

	Token   agent.ID `bun:"token"`
	Key     []byte   `bun:"key"`
	Body    []byte   `bun:"body"`
	Fact    agent.ID `bun:"fact"`
	Created int64    `bun:"created"`
}

// MadeBy returns the fact that an earlier request of a token with the same key made; "" when there was none. same says whether that one
// had the same body.
func (s *Store) MadeBy(ctx context.Context, token agent.ID, key, body string) (fact agent.ID, same bool, err error) {
	var row requestRow
	err = fixed(s.reader, `SELECT * FROM api_requests WHERE token = ?1 AND key = ?2`, token, s.keyedHere("api key\x00"+key)).Scan(ctx, &row)
	if errors.Is(err, sql.ErrNoRows) {
		return "", false, nil
	}
	if err != nil {
		return "", false, s.translate(err)
	}
	return row.Fact, subtle.ConstantTimeCompare(row.Body, s.keyedHere("api body\x00"+body)) == 1, nil
}

// NoteMade notes which fact a request of a token made. The first one with a key stands; those older than 30 days go.
func (s *Store) NoteMade(ctx context.Context, token agent.ID, key, body string, fact agent.ID) error {
	return s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		at := now()
		if _, err := fixed(tx, `DELETE FROM api_requests WHERE created < ?1`, micros(at.Add(-requestsKept))).Exec(ctx); err != nil {
			return err
		}
		_, err := fixed(tx, `INSERT OR IGNORE INTO api_requests (token, key, body, fact, created) VALUES (?1, ?2, ?3, ?4, ?5)`,
			token, s.keyedHere("api key\x00"+key), s.keyedHere("api body\x00"+body), fact, micros(at)).Exec(ctx)
		return err
	})
}
