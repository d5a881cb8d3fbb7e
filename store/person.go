package store

import (
	"context"

	"github.com/uptrace/bun"

	"ash/agent"
)

type personRow struct {
	bun.BaseModel `bun:"table:persons,alias:p"`

	ID          agent.ID `bun:"id,pk"`
	DisplayName string   `bun:"display_name"`
	Owner       bool     `bun:"owner"`
	Notes       string   `bun:"notes"`
	Created     int64    `bun:"created"`
}

type channelRow struct {
	bun.BaseModel `bun:"table:person_channels,alias:c"`

	Channel    string   `bun:"channel,pk"`
	ExternalID string   `bun:"external_id,pk"`
	Person     agent.ID `bun:"person"`
}

func toPerson(p agent.Person) (personRow, []channelRow) {
	row := personRow{
		ID: p.ID, DisplayName: clean(p.DisplayName), Owner: p.Owner, Notes: clean(p.Notes), Created: micros(p.Created),
	}
	var channels []channelRow
	for _, c := range p.Channels {
		channels = append(channels, channelRow{Channel: clean(c.Channel), ExternalID: clean(c.ExternalID), Person: p.ID})
	}
	return row, channels
}

func fromPerson(r personRow, channels []channelRow) agent.Person {
	p := agent.Person{
		ID: r.ID, DisplayName: r.DisplayName, Owner: r.Owner, Notes: r.Notes, Created: fromMicros(r.Created),
	}
	for _, c := range channels {
		p.Channels = append(p.Channels, agent.ChannelAddress{Channel: c.Channel, ExternalID: c.ExternalID})
	}
	return p
}

// Owner implements agent.PersonStore. The name is empty until somebody gives it.
func (s *Store) Owner(ctx context.Context) (agent.Person, error) {
	return s.personWhere(ctx, "owner = 1")
}

// Person implements agent.PersonStore.
func (s *Store) Person(ctx context.Context, id agent.ID) (agent.Person, error) {
	return s.personWhere(ctx, "id = ?", id)
}

func (s *Store) personWhere(ctx context.Context, cond string, args ...any) (agent.Person, error) {
	var p agent.Person
	err := s.read(ctx, func(ctx context.Context, tx bun.IDB) error {
		var row personRow
		if err := tx.NewSelect().Model(&row).Where(cond, args...).Scan(ctx); err != nil {
			return err
		}
		var channels []channelRow
		if err := tx.NewSelect().Model(&channels).Where("person = ?", row.ID).Order("channel", "external_id").Scan(ctx); err != nil {
			return err
		}
		p = fromPerson(row, channels)
		return nil
	})
	return p, err
}

// SavePerson implements agent.PersonStore: it stores a new person or replaces a known one.
// CodeConflict for a second owner, and for a channel address that is another person's.
func (s *Store) SavePerson(ctx context.Context, p agent.Person) error {
	p.Created = orNow(p.Created)
	row, channels := toPerson(p)
	return s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		_, err := tx.NewInsert().Model(&row).On("CONFLICT (id) DO UPDATE").
			Set("display_name = excluded.display_name").Set("owner = excluded.owner").Set("notes = excluded.notes").Exec(ctx)
		if err != nil {
			return err
		}
		if _, err := tx.NewDelete().Model((*channelRow)(nil)).Where("person = ?", p.ID).Exec(ctx); err != nil || len(channels) == 0 {
			return err
		}
		_, err = tx.NewInsert().Model(&channels).Exec(ctx)
		return err
	})
}
