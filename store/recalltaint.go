package store

import (
	"context"

	"github.com/uptrace/bun"

	"ash/agent"
)

// taint is a set of labels that entered a conversation with the message numbered Seq.
type taint struct {
	Seq    int64  `bun:"seq"`
	Labels string `bun:"labels"`
}

// taints knows, for each thread, what strangers and private texts came into it, and when. What Ash answers may repeat anything that
// stood before it: recalled in another conversation, an answer bears the labels of all that came before it in its own.
type taints map[agent.ID][]taint

// before returns the labels of what came into a thread before the message numbered seq, whatever its branch.
func (t taints) before(ctx context.Context, tx bun.IDB, thread agent.ID, seq int64) (agent.Labels, error) {
	list, known := t[thread]
	if !known {
		err := fixed(tx, `SELECT min(seq) AS seq, labels FROM (
				SELECT m.seq, m.labels FROM messages m WHERE m.thread = ?1
				UNION ALL
				SELECT m.seq, c.labels FROM tool_calls c JOIN messages m ON m.id = c.message WHERE c.thread = ?1
			) WHERE labels NOT IN ('', '[]', 'null') GROUP BY labels`, thread).Scan(ctx, &list)
		if err != nil {
			return nil, err
		}
		t[thread] = list
	}
	var all agent.Labels
	for _, x := range list {
		if x.Seq >= seq {
			continue
		}
		labels, err := decodeLabels(x.Labels)
		if err != nil {
			return nil, err
		}
		all = all.Union(labels)
	}
	return all, nil
}
