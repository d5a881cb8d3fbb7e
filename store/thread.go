package store

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/uptrace/bun"

	"ash/agent"
)

// maxTitle bounds a thread's title, in characters.
const maxTitle = 200

type threadRow struct {
	bun.BaseModel `bun:"table:threads,alias:t"`

	Seq          int64             `bun:"seq,pk,autoincrement"`
	ID           agent.ID          `bun:"id"`
	Title        string            `bun:"title"`
	TitleSource  agent.TitleSource `bun:"title_source"`
	Head         agent.ID          `bun:"head,nullzero"`
	Channel      string            `bun:"channel"`
	ExternalID   string            `bun:"external_id,nullzero"`
	Person       agent.ID          `bun:"person,nullzero"`
	Model        string            `bun:"model"`
	Root         string            `bun:"root"`
	WorkDir      string            `bun:"work_dir"`
	Grants       string            `bun:"grants"`
	BudgetCost   int64             `bun:"budget_cost"`
	BudgetTokens int               `bun:"budget_tokens"`
	ParentCall   agent.ID          `bun:"parent_call,nullzero"`
	Pinned       bool              `bun:"pinned"`
	Archived     int64             `bun:"archived"`
	Deleted      int64             `bun:"deleted"`
	Created      int64             `bun:"created"`
	Updated      int64             `bun:"updated"`
	SearchTitle  string            `bun:"search_title"`
	Tools        string            `bun:"tools"` // names, a space between
	BudgetRounds int               `bun:"budget_rounds"`
	BudgetWall   int64             `bun:"budget_wall"` // nanoseconds
}

type grantJSON struct {
	ID      agent.ID  `json:"id"`
	Rule    string    `json:"rule"`
	Sources []string  `json:"sources,omitempty"`
	Created time.Time `json:"created"`
}

func toThread(t agent.Thread) (threadRow, error) {
	grants := make([]grantJSON, len(t.Grants))
	for i, g := range t.Grants {
		grants[i] = grantJSON{ID: g.ID, Rule: g.Rule, Sources: g.Sources, Created: g.Created.UTC()}
	}
	encoded, err := toJSON(grants)
	if err != nil {
		return threadRow{}, err
	}
	title := clean(t.Title)
	return threadRow{
		ID: t.ID, Title: title, TitleSource: t.TitleSource, Head: t.Head,
		Channel: clean(t.Origin.Channel), ExternalID: clean(t.Origin.ExternalID), Person: t.Origin.Person,
		Model: clean(t.Model), Root: clean(t.Root), WorkDir: clean(t.WorkDir), Grants: clean(encoded),
		BudgetCost: int64(t.Budget.Cost), BudgetTokens: t.Budget.Tokens, ParentCall: t.ParentCall,
		Pinned: t.Pinned, Archived: micros(t.Archived), Deleted: micros(t.Deleted),
		Created: micros(t.Created), Updated: micros(t.Updated), SearchTitle: searchable(title),
		Tools: clean(strings.Join(t.Tools, " ")), BudgetRounds: t.Budget.Rounds, BudgetWall: int64(t.Budget.Wall),
	}, nil
}

func fromThread(r threadRow) (agent.Thread, error) {
	var list []grantJSON
	if err := fromJSON(r.Grants, &list); err != nil {
		return agent.Thread{}, err
	}
	var grants []agent.Grant
	for _, g := range list {
		grants = append(grants, agent.Grant{ID: g.ID, Rule: g.Rule, Sources: g.Sources, Created: g.Created})
	}
	return agent.Thread{
		ID: r.ID, Title: r.Title, TitleSource: r.TitleSource, Head: r.Head,
		Origin: agent.Origin{Channel: r.Channel, ExternalID: r.ExternalID, Person: r.Person},
		Model:  r.Model, Root: r.Root, WorkDir: r.WorkDir, Grants: grants,
		Budget: agent.Budget{
			Cost: agent.MicroDollars(r.BudgetCost), Tokens: r.BudgetTokens, Rounds: r.BudgetRounds, Wall: time.Duration(r.BudgetWall),
		},
		Tools:      words(r.Tools),
		ParentCall: r.ParentCall, Pinned: r.Pinned, Archived: fromMicros(r.Archived), Deleted: fromMicros(r.Deleted),
		Created: fromMicros(r.Created), Updated: fromMicros(r.Updated),
	}, nil
}

// CreateThread implements agent.ThreadStore. CodeConflict when the id or the origin's external id
// is taken, CodeInvalid for a title that is too long.
func (s *Store) CreateThread(ctx context.Context, t agent.Thread) error {
	if err := checkTitle(t.Title); err != nil {
		return err
	}
	t.Created = orNow(t.Created)
	if t.Updated.IsZero() {
		t.Updated = t.Created
	}
	row, err := toThread(t)
	if err != nil {
		return s.translate(err)
	}
	return s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		_, err := tx.NewInsert().Model(&row).Exec(ctx)
		return err
	})
}

// Thread implements agent.ThreadStore.
func (s *Store) Thread(ctx context.Context, id agent.ID) (agent.Thread, error) {
	t, err := threadByID(ctx, s.reader, id)
	return t, s.translate(err)
}

// PatchThread implements agent.ThreadStore. A title from a weaker source than the
// stored one's (words < model < person) is left out without an error.
func (s *Store) PatchThread(ctx context.Context, id agent.ID, p agent.ThreadPatch) (agent.Thread, error) {
	var t agent.Thread
	if p.Title != nil {
		if err := checkTitle(*p.Title); err != nil {
			return t, err
		}
	}
	err := s.write(ctx, func(ctx context.Context, tx bun.IDB) (err error) {
		if t, err = threadByID(ctx, tx, id); err != nil {
			return err
		}
		patch(&t, p, now())
		row, err := toThread(t)
		if err != nil {
			return err
		}
		_, err = tx.NewUpdate().Model(&row).Where("id = ?", id).
			Column("title", "title_source", "search_title", "model", "pinned", "archived", "deleted", "updated", "root", "work_dir").Exec(ctx)
		return err
	})
	return t, err
}

func patch(t *agent.Thread, p agent.ThreadPatch, at time.Time) {
	source := t.TitleSource
	if p.TitleSource != nil {
		source = *p.TitleSource
	}
	if titleStrength(source) >= titleStrength(t.TitleSource) {
		t.TitleSource = source
		if p.Title != nil {
			t.Title = clean(*p.Title)
		}
	}
	if p.Model != nil {
		t.Model = clean(*p.Model)
	}
	if p.Root != nil {
		t.Root = clean(*p.Root)
	}
	if p.WorkDir != nil {
		t.WorkDir = clean(*p.WorkDir)
	}
	if p.Pinned != nil {
		t.Pinned = *p.Pinned
	}
	setMoment(&t.Archived, p.Archived, at)
	setMoment(&t.Deleted, p.Deleted, at)
	t.Updated = at
}

// setMoment notes since when something holds; saying it twice does not move the moment.
func setMoment(since *time.Time, holds *bool, at time.Time) {
	switch {
	case holds == nil:
	case !*holds:
		*since = time.Time{}
	case since.IsZero():
		*since = at
	}
}

func titleStrength(s agent.TitleSource) int {
	switch s {
	case agent.TitleWords:
		return 1
	case agent.TitleModel:
		return 2
	case agent.TitlePerson:
		return 3
	}
	return 0
}

func checkTitle(title string) error {
	if utf8.RuneCountInString(title) > maxTitle {
		return agent.Errorf(agent.CodeInvalid, "A title has at most %d characters.", maxTitle)
	}
	return nil
}

func threadByID(ctx context.Context, db bun.IDB, id agent.ID) (agent.Thread, error) {
	var row threadRow
	if err := fixed(db, `SELECT * FROM threads WHERE id = ?1`, id).Scan(ctx, &row); err != nil {
		return agent.Thread{}, err
	}
	return fromThread(row)
}

// words splits names with spaces between; nil when there are none.
func words(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Fields(s)
}
