package vault

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"time"

	"ash/agent"
)

const (
	exportHead = "ash-export 1\n"
	maxExport  = 64 << 20
)

// exported is what an export holds when it is opened.
type exported struct {
	Vault   string           `json:"vault"`
	At      time.Time        `json:"at"`
	Secrets []exportedSecret `json:"secrets"`
}

type exportedSecret struct {
	Name  string    `json:"name"`
	Hosts []string  `json:"hosts"`
	Users []string  `json:"users"`
	Extra bool      `json:"extra"` // the value is still encrypted to a passphrase of its own
	Added time.Time `json:"added"`
	Value []byte    `json:"value"`
}

func (e *exported) wipe() {
	for _, s := range e.Secrets {
		Wipe(s.Value)
	}
}

// Export writes all secrets that are in use, encrypted to passphrase, as one age file: "age -d" opens it without Ash. Errors: CodeLocked,
// CodeInvalid for the passphrase, CodeDenied for a secret that cannot be read.
func (v *Vault) Export(ctx context.Context, w io.Writer, passphrase []byte) (err error) {
	sealed, err := v.export(ctx, passphrase)
	if err != nil {
		v.record(ctx, outcome(Access{Action: ActionExport}, err))
		return err
	}
	if err := v.recordFirst(ctx, outcome(Access{Action: ActionExport}, nil)); err != nil {
		return err
	}
	if _, err := w.Write(sealed); err != nil {
		return fileError(err, "write", "the export")
	}
	return nil
}

func (v *Vault) export(ctx context.Context, passphrase []byte) ([]byte, error) {
	if err := CheckPassphrase(passphrase); err != nil {
		return nil, err
	}
	all, err := v.gather()
	defer all.wipe()
	if err != nil {
		return nil, err
	}
	var plain bytes.Buffer
	plain.Grow(2 * all.size()) // so that no shorter copies are left behind
	plain.WriteString(exportHead)
	err = json.NewEncoder(&plain).Encode(all)
	defer func() { Wipe(plain.Bytes()) }()
	if err != nil {
		return nil, agent.Wrap(agent.CodeInternal, err, "The export could not be written.")
	}
	done, err := v.slowly(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return sealPass(plain.Bytes(), passphrase, v.o.WorkFactor)
}

// size is about how long the export will be.
func (e *exported) size() int {
	n := 1 << 10
	for _, s := range e.Secrets {
		n += len(s.Value) + 1<<10
	}
	return n
}

// gather opens every secret that is in use.
func (v *Vault) gather() (*exported, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	all := &exported{At: v.stamp(), Secrets: []exportedSecret{}}
	if err := v.ready(); err != nil {
		return all, err
	}
	all.Vault = v.root.Vault
	for _, e := range v.index.Entries {
		ver := e.Versions[e.at(current)]
		value, err := v.open(e.Name, ver)
		if err != nil {
			return all, err
		}
		all.Secrets = append(all.Secrets, exportedSecret{e.Name, ver.Hosts, ver.Users, ver.Extra, ver.Added, value})
	}
	return all, nil
}

// Imported is what became of the secrets of a file.
type Imported struct {
	Added   []string // names
	Later   []string // names: left for the next unlock
	There   []string // names that the vault has already: nothing was changed
	Skipped []string // keys of a .env file that no name was given for, or that are empty
}

// Import adds the secrets of an export. Those whose names are there already stay as they are. Errors: CodeDenied for a wrong passphrase or a damaged file,
// and those of Put; what was added before one stays.
func (v *Vault) Import(ctx context.Context, r io.Reader, passphrase []byte) (done Imported, err error) {
	sealed, err := io.ReadAll(io.LimitReader(r, maxExport+1))
	if err != nil {
		return done, fileError(err, "read", "the export")
	}
	if len(sealed) > maxExport {
		return done, agent.Errorf(agent.CodeInvalid, "The file is larger than an export of the vault can be.")
	}
	all, err := v.openExport(ctx, sealed, passphrase)
	if err != nil {
		return done, err
	}
	defer all.wipe()
	for _, s := range all.Secrets {
		l := label{Name: s.Name, Extra: s.Extra, Added: s.Added.UTC().Truncate(time.Second)}
		if err := checkStored(s.Value, s.Extra); err != nil {
			return done, err
		}
		if err := CheckName(s.Name); err != nil {
			return done, err
		}
		if l.Hosts, l.Users, err = binding(s.Name, s.Hosts, s.Users); err != nil {
			return done, err
		}
		later, err := v.add(ctx, l, s.Value)
		v.record(ctx, outcome(Access{Action: ActionAdd, Name: s.Name, For: "import"}, err))
		if err := done.count(s.Name, later, err); err != nil {
			return done, err
		}
	}
	return done, nil
}

// checkStored is checkValue of a value that may be encrypted to its own passphrase, which makes it a little longer.
func checkStored(value []byte, extra bool) error {
	if extra && len(value) <= MaxValue+4<<10 {
		return nil
	}
	return checkValue(value)
}

func (v *Vault) openExport(ctx context.Context, sealed, passphrase []byte) (*exported, error) {
	done, err := v.slowly(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	plain, err := unsealPass(sealed, passphrase)
	if err != nil {
		return nil, agent.Wrap(agent.CodeDenied, err, "The file does not open: the passphrase is another, or it is no whole export of a vault.")
	}
	defer Wipe(plain)
	body, ok := bytes.CutPrefix(plain, []byte(exportHead))
	all := new(exported)
	if !ok || strictJSON(body, all) != nil {
		all.wipe()
		return nil, agent.Errorf(agent.CodeInvalid, "The file is no export of a vault.")
	}
	return all, nil
}

// count sorts one outcome in; what is there already is no failure.
func (i *Imported) count(name string, later bool, err error) error {
	switch {
	case agent.CodeOf(err) == agent.CodeConflict:
		i.There = append(i.There, name)
	case err != nil:
		return err
	case later:
		i.Later = append(i.Later, name)
	default:
		i.Added = append(i.Added, name)
	}
	return nil
}

// ImportEnv adds secrets of a .env file: place says for the key of each line under which name, for which hosts and users its value is kept, and whether at all. Names that
// are there already stay as they are. Errors: those of ParseEnv and Put; what was added before one stays.
func (v *Vault) ImportEnv(ctx context.Context, data []byte, place func(key string) (Secret, bool)) (done Imported, err error) {
	all, err := ParseEnv(data)
	if err != nil {
		return done, err
	}
	defer wipeVariables(all)
	for _, line := range all {
		s, ok := place(line.Key)
		if !ok || len(line.Value) == 0 {
			done.Skipped = append(done.Skipped, line.Key)
			continue
		}
		s.Value = line.Value
		later, err := v.Put(ctx, s)
		if err := done.count(s.Name, later, err); err != nil {
			return done, err
		}
	}
	return done, nil
}
