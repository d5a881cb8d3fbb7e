package vault

import (
	"context"
	"time"

	"ash/agent"
)

// Action is what somebody did, or tried to do, with the vault.
type Action string

// The actions of the access log.
const (
	ActionCreate   Action = "create"
	ActionUnlock   Action = "unlock"
	ActionLock     Action = "lock"
	ActionUse      Action = "use"
	ActionAdd      Action = "add"
	ActionTakeIn   Action = "take in" // what was added while locked
	ActionRotate   Action = "rotate"
	ActionConfirm  Action = "confirm"
	ActionRevert   Action = "revert"
	ActionBind     Action = "bind"
	ActionDelete   Action = "delete"
	ActionExport   Action = "export"
	ActionPass     Action = "change passphrase"
	ActionPhrase   Action = "make recovery phrase"
	ActionRecover  Action = "recover"
	ActionIdentity Action = "rotate identity"
	ActionAccept   Action = "accept an older state"
	ActionRepair   Action = "repair"
	ActionAbandon  Action = "abandon"
)

// Access is one line of the access log. There is no place in it for a value.
type Access struct {
	At      time.Time  `json:"at"` // UTC
	Action  Action     `json:"action"`
	Name    string     `json:"name,omitempty"` // of the secret
	User    string     `json:"user,omitempty"` // the part of Ash
	Host    string     `json:"host,omitempty"` // where it is to go
	For     string     `json:"for,omitempty"`  // a thread, a turn: what the caller says
	Allowed bool       `json:"allowed"`
	Why     agent.Code `json:"why,omitempty"` // of a refusal
}

// Log keeps the access log. A use that cannot be recorded is refused. Record may be called while the vault is held, and must not ask anything of it.
type Log interface {
	Record(ctx context.Context, a Access) error
}

// Mark is what is remembered of a vault outside of it, to notice when the whole folder is put back to an earlier state.
type Mark struct {
	Vault     string `json:"vault"`
	Serial    uint64 `json:"serial"`    // of the last change
	Recipient string `json:"recipient"` // what is added while locked has to be encrypted to it
}

// Anchor keeps the mark outside of the folder of the vault, best in the database.
type Anchor interface {
	// Mark returns what was kept last; the zero Mark when nothing was.
	Mark(ctx context.Context) (Mark, error)
	// SetMark keeps m, or forgets for the zero Mark. It is durable when it returns.
	SetMark(ctx context.Context, m Mark) error
}
