package store

import (
	"context"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"ash/agent"
	"ash/agent/access"
)

var _ access.Store = (*Store)(nil)

type tokenRow struct {
	bun.BaseModel `bun:"table:api_tokens,alias:t"`

	ID      agent.ID `bun:"id"`
	Name    string   `bun:"name"`
	Hint    string   `bun:"hint"`
	Hash    []byte   `bun:"hash"`
	Scopes  string   `bun:"scopes"` // separated by spaces, as RFC 6749 writes them
	Created int64    `bun:"created"`
	Used    int64    `bun:"used"`
	Expires int64    `bun:"expires"`
	Revoked int64    `bun:"revoked"`
}

func toToken(t access.Token, hash []byte) tokenRow {
	names := make([]string, len(t.Scopes))
	for i, s := range t.Scopes {
		names[i] = string(s)
	}
	return tokenRow{
		ID: t.ID, Name: clean(t.Name), Hint: clean(t.Hint), Hash: hash, Scopes: strings.Join(names, " "),
		Created: micros(orNow(t.Created)), Used: micros(t.Used), Expires: micros(t.Expires), Revoked: micros(t.Revoked),
	}
}

func fromToken(r tokenRow) access.Token {
	t := access.Token{
		ID: r.ID, Name: r.Name, Hint: r.Hint, Created: fromMicros(r.Created), Used: fromMicros(r.Used),
		Expires: fromMicros(r.Expires), Revoked: fromMicros(r.Revoked),
	}
	for name := range strings.FieldsSeq(r.Scopes) {
		t.Scopes = append(t.Scopes, access.Scope(name))
	}
	return t
}

// AddToken implements access.Store.
func (s *Store) AddToken(ctx context.Context, t access.Token, hash []byte, limit int) error {
	return s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		var state struct{ Count, Taken int }
		err := fixed(tx, `SELECT count(*) AS count, count(*) FILTER (WHERE name = ?1 COLLATE NOCASE) AS taken FROM api_tokens WHERE revoked = 0`,
			clean(t.Name)).Scan(ctx, &state)
		switch {
		case err != nil:
			return err
		case state.Taken > 0:
			return agent.Errorf(agent.CodeConflict, "There is a token with that name. Choose another, or revoke that one first.")
		case state.Count >= limit:
			return agent.Errorf(agent.CodeExhausted, "There are %d tokens already. Revoke those that are not used any more.", state.Count)
		}
		row := toToken(t, hash)
		return insertRow(ctx, tx, &row)
	})
}

// Tokens implements access.Store.
func (s *Store) Tokens(ctx context.Context) ([]access.Token, error) {
	var rows []tokenRow
	if err := fixed(s.reader, `SELECT * FROM api_tokens ORDER BY created DESC, id DESC`).Scan(ctx, &rows); err != nil {
		return nil, s.translate(err)
	}
	list := make([]access.Token, len(rows))
	for i, row := range rows {
		list[i] = fromToken(row)
	}
	return list, nil
}

// TokenByHash implements access.Store.
func (s *Store) TokenByHash(ctx context.Context, hash []byte) (access.Token, []byte, error) {
	var row tokenRow
	if err := fixed(s.reader, `SELECT * FROM api_tokens WHERE hash = ?1`, hash).Scan(ctx, &row); err != nil {
		return access.Token{}, nil, s.translate(err)
	}
	return fromToken(row), row.Hash, nil
}

// RevokeToken implements access.Store. What its requests made is no longer told apart: nobody can send them again.
func (s *Store) RevokeToken(ctx context.Context, id agent.ID, at time.Time) error {
	return s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		result, err := fixed(tx, `UPDATE api_tokens SET revoked = CASE revoked WHEN 0 THEN ?2 ELSE revoked END WHERE id = ?1`, id, micros(at)).Exec(ctx)
		if err == nil && !touched(result) {
			err = errGone()
		}
		if err != nil {
			return err
		}
		_, err = fixed(tx, `DELETE FROM api_requests WHERE token = ?1`, id).Exec(ctx)
		return err
	})
}

// UseToken implements access.Store.
func (s *Store) UseToken(ctx context.Context, id agent.ID, at, since time.Time) error {
	return s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		_, err := fixed(tx, `UPDATE api_tokens SET used = ?2 WHERE id = ?1 AND used < ?3`, id, micros(at), micros(since)).Exec(ctx)
		return err
	})
}
