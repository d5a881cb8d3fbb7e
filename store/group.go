package store

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/uptrace/bun"
)

// maxGroup bounds the writes that share a commit, so that the first does not wait long for the last.
const maxGroup = 16

// group lets writes that wait for the writer's connection together share one commit, and so one fsync: of fifty
// conversations that begin at once, each would else wait for the disk as often as all of them write. A write
// that finds the writer free goes at once, alone; those that come meanwhile wait, and the first of them then writes
// for all. The zero value is at rest.
type group struct {
	mu      sync.Mutex
	writing bool
	waiting []*change
}

// change is one write. It is whole or not at all, whatever becomes of those it shares a commit with.
type change struct {
	ctx   context.Context
	fn    func(ctx context.Context, tx bun.IDB) error
	err   error
	panic any            // of fn, for the goroutine that asked
	turn  chan []*change // what it is to write, itself included; nil when that has been done
}

// do runs fn in a transaction and returns when it is committed or has failed.
func (g *group) do(ctx context.Context, db *bun.DB, fn func(ctx context.Context, tx bun.IDB) error) error {
	c := &change{ctx: ctx, fn: fn, turn: make(chan []*change, 1)}
	g.mu.Lock()
	if g.writing {
		g.waiting = append(g.waiting, c)
	} else {
		g.writing = true
		c.turn <- []*change{c}
	}
	g.mu.Unlock()
	if batch := <-c.turn; batch != nil {
		commit(ctx, db, batch)
		g.next()
		for _, other := range batch {
			if other != c {
				other.turn <- nil
			}
		}
	}
	if c.panic != nil {
		panic(c.panic)
	}
	return c.err
}

// next has the first of those that wait write for all.
func (g *group) next() {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := min(len(g.waiting), maxGroup)
	if n == 0 {
		g.writing = false
		return
	}
	batch := g.waiting[:n:n]
	g.waiting = g.waiting[n:]
	batch[0].turn <- batch
}

// commit writes a batch in one transaction and notes what became of each.
func commit(ctx context.Context, db *bun.DB, batch []*change) {
	err := transact(ctx, db, "BEGIN IMMEDIATE", func(ctx context.Context, tx bun.IDB) error {
		if len(batch) == 1 {
			return batch[0].run(tx)
		}
		for _, c := range batch {
			if err := c.apart(ctx, tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		return
	}
	for _, c := range batch { // nothing of the batch was stored
		if c.err == nil {
			c.err = err
		}
	}
}

// apart runs the change so that its failure leaves the others of its batch as they are. An error is that of the
// whole transaction: SQLite itself has ended it, as on a full disk.
func (c *change) apart(ctx context.Context, tx bun.IDB) error {
	if _, err := fixed(tx, "SAVEPOINT apart").Exec(ctx); err != nil {
		return err
	}
	c.err = c.run(tx)
	if c.err != nil {
		if _, err := fixed(tx, "ROLLBACK TO apart").Exec(ctx); err != nil {
			return errors.Join(c.err, err)
		}
	}
	_, err := fixed(tx, "RELEASE apart").Exec(ctx)
	return err
}

// run does what was asked for. A panic is the asking goroutine's, which may not be this one.
func (c *change) run(tx bun.IDB) (err error) {
	defer func() {
		if c.panic = recover(); c.panic != nil {
			err = fmt.Errorf("panic in a write: %v", c.panic)
		}
	}()
	return c.fn(c.ctx, tx)
}
