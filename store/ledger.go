package store

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/uptrace/bun"

	"ash/agent"
)

// eventRow is a line of the ledger: ids, states, sizes and keyed hashes, never text.
type eventRow struct {
	bun.BaseModel `bun:"table:events,alias:e"`

	Seq         int64    `bun:"seq,pk,autoincrement"`
	Boot        string   `bun:"boot"`
	Number      int64    `bun:"number"`
	Time        int64    `bun:"time"`
	Thread      agent.ID `bun:"thread,nullzero"`
	Turn        agent.ID `bun:"turn,nullzero"`
	Correlation agent.ID `bun:"correlation,nullzero"`
	Path        string   `bun:"path"`
	Kind        string   `bun:"kind"`
	Subject     agent.ID `bun:"subject,nullzero"` // the message, call, turn or memory it is about
	Name        string   `bun:"name"`             // of the tool or model
	State       string   `bun:"state"`
	Size        int      `bun:"size"` // bytes of text
	Hash        string   `bun:"hash"` // HMAC-SHA-256 of the text, lower-case hex
}

// AppendEvents implements agent.Ledger. Deltas and live output are not kept: the reply and
// the result they end in are.
func (s *Store) AppendEvents(ctx context.Context, list []agent.Envelope) error {
	var rows []eventRow
	for _, e := range list {
		for _, entry := range s.entries(e.Event) {
			entry.Boot, entry.Number, entry.Time = clean(e.ID.Boot), int64(e.ID.Seq), micros(orNow(e.Time))
			entry.Thread, entry.Turn, entry.Correlation, entry.Path = e.Thread, e.Turn, e.Correlation, clean(e.Path)
			entry.Kind = e.Event.Kind()
			rows = append(rows, entry)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return s.write(ctx, func(ctx context.Context, tx bun.IDB) error {
		for i := range rows {
			if err := insertRow(ctx, tx, &rows[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// entries says what the ledger keeps of an event.
func (s *Store) entries(event agent.Event) []eventRow {
	switch e := event.(type) {
	case agent.AssistantDelta, agent.ToolProgress:
		return nil
	case agent.UserEvent:
		return []eventRow{s.about(e.Message.ID, "", string(e.Message.State), e.Message.Text())}
	case agent.AssistantEvent:
		return []eventRow{s.about(e.Message.ID, e.Message.Model.String(), string(e.Message.State), e.Message.Text())}
	case agent.ToolCallEvent:
		return []eventRow{s.aboutCall(e.Call, string(e.Call.Arguments))}
	case agent.ConfirmRequest:
		return []eventRow{s.aboutCall(e.Call, string(e.Call.Arguments))}
	case agent.ConfirmResponse:
		return []eventRow{s.aboutCall(e.Call, string(e.Call.Arguments))}
	case agent.ToolResultEvent:
		return []eventRow{s.aboutCall(e.Call, agent.Message{Parts: e.Call.Result}.Text())}
	case agent.PolicyEvent:
		return []eventRow{s.about(e.Call, "", e.Verdict, e.Why)}
	case agent.MemoryEvent:
		rows := make([]eventRow, len(e.Items))
		for i, item := range e.Items {
			rows[i] = eventRow{Subject: item, State: memoryState(e.Learned)}
		}
		return rows
	case agent.VaultEvent:
		return []eventRow{s.about("", "", vaultState(e.Unlocked), "")}
	case agent.AuditEvent:
		return []eventRow{s.audited(e)}
	case agent.ProgressEvent:
		return []eventRow{s.attempted(e)}
	case agent.ErrorEvent:
		return []eventRow{s.about("", "", string(e.Failure.Code), e.Failure.Public)}
	case agent.SpendEvent:
		return []eventRow{s.about("", e.Cap, spendState(e.Reached), "")}
	case agent.TurnEvent:
		return []eventRow{s.about(e.Turn.ID, "", string(e.Turn.State), "")}
	case agent.ThreadEvent:
		row := s.about(e.Thread.ID, "", threadState(e), e.Thread.Title)
		return []eventRow{row}
	}
	return []eventRow{{}}
}

func vaultState(unlocked bool) string {
	if unlocked {
		return "unlocked"
	}
	return "locked"
}

// about makes an entry that stands for a text without holding it.
func (s *Store) about(subject agent.ID, name, state, text string) eventRow {
	row := eventRow{Subject: subject, Name: clean(name), State: clean(state), Size: len(text)}
	if text != "" {
		mac := hmac.New(sha256.New, s.ledgerKey)
		mac.Write([]byte(text))
		row.Hash = hex.EncodeToString(mac.Sum(nil))
	}
	return row
}

func (s *Store) aboutCall(c agent.ToolCall, text string) eventRow {
	return s.about(c.ID, c.Name, string(c.State), text)
}

func (s *Store) attempted(e agent.ProgressEvent) eventRow {
	if e.Attempt == nil {
		return s.about(e.Message, "", "", e.Text)
	}
	state := "trying"
	if f := e.Attempt.Failed; f != nil {
		state = "failed: " + string(f.Code)
	}
	return s.about(e.Message, e.Attempt.Model.String(), state, "")
}

// identifier reports whether s looks like a kind of audited event; anything else may be text.
func identifier(s string) bool {
	return s != "" && len(s) <= 64 && 'a' <= s[0] && s[0] <= 'z' && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_.-") == ""
}

func (s *Store) audited(e agent.AuditEvent) eventRow {
	if identifier(e.What) {
		return s.about("", e.What, "", e.Detail)
	}
	return s.about("", "", "", e.What+"\n"+e.Detail)
}

func spendState(reached bool) string {
	if reached {
		return "reached"
	}
	return "near"
}

func memoryState(learned bool) string {
	if learned {
		return "learned"
	}
	return "recalled"
}

func threadState(e agent.ThreadEvent) string {
	switch {
	case !e.Thread.Deleted.IsZero():
		return "deleted"
	case !e.Thread.Archived.IsZero():
		return "archived"
	case e.Moved:
		return "moved"
	}
	return ""
}
