package store

import (
	"context"

	"ash/agent"
)

// ItemNumbers returns the numbers of the index's items by what they were made of, 0 for what is not in the index any
// more. Of a note it is the first passage.
func (s *Store) ItemNumbers(ctx context.Context, list []agent.Recollection) ([]int64, error) {
	type place struct {
		Kind agent.MemoryKind `json:"kind"`
		Ref  string           `json:"ref"`
	}
	places := make([]place, len(list))
	for i, r := range list {
		places[i] = place{r.Kind, clean(r.Ref)}
	}
	text, err := toJSON(places)
	if err != nil {
		return nil, s.translate(err)
	}
	var numbers []int64
	err = fixed(s.reader, `SELECT ifnull((SELECT i.seq FROM recall_items i WHERE i.kind = j.value ->> 'kind' AND i.ref = j.value ->> 'ref'
			ORDER BY i.part LIMIT 1), 0)
		FROM json_each(?1) j ORDER BY j.key`, text).Scan(ctx, &numbers)
	return numbers, s.translate(err)
}
