package vault

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"ash/agent"
)

// Request is what somebody wants of a secret.
type Request struct {
	Name  string
	User  string // the part of Ash that asks
	Host  string // where the value is to go, as in a URL ("api.example.com", "127.0.0.1:8080"); "": it stays inside Ash
	For   string // for the access log: a thread, a turn; never content
	Extra []byte // passphrase of a secret that has its own
}

// Use returns the value of a secret for one request; the caller owns it and wipes it (Wipe) as soon as it was sent. Errors: CodeLocked
// when the vault is locked, or the secret has a passphrase of its own and none was given; CodeNotFound; CodeDenied when user or host are not those
// it is bound to, for a wrong passphrase, and for a file that is not the one the vault wrote; CodeUnavailable when the access log cannot be written.
func (v *Vault) Use(ctx context.Context, r Request) (value []byte, err error) {
	log := Access{Action: ActionUse, Name: known(r.Name), User: r.User, Host: r.Host, For: r.For}
	value, err = v.use(ctx, r)
	if err != nil {
		v.record(ctx, outcome(log, err))
		return nil, err
	}
	if err := v.recordFirst(ctx, outcome(log, nil)); err != nil {
		Wipe(value)
		return nil, err
	}
	return value, nil
}

// Check returns the error that Use would return for a request, apart from damage to the file and the access log; nothing is used or recorded,
// and the idle time goes on.
func (v *Vault) Check(_ context.Context, r Request) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	ver, err := v.allowed(r)
	if err == nil && ver.Extra && len(r.Extra) == 0 {
		return own(r.Name)
	}
	return err
}

func own(name string) error {
	return agent.Wrap(agent.CodeLocked, ErrOwn, "The secret %s has a passphrase of its own, which is needed each time.", name)
}

func (v *Vault) use(ctx context.Context, r Request) ([]byte, error) {
	value, extra, err := v.fetch(r)
	if err != nil || !extra {
		return value, err
	}
	defer Wipe(value)
	if len(r.Extra) == 0 {
		return nil, own(r.Name)
	}
	done, err := v.slowly(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	plain, err := unsealPass(value, r.Extra)
	if err != nil {
		return nil, agent.Wrap(agent.CodeDenied, err, "That is not the passphrase of the secret %s.", r.Name)
	}
	return plain, nil
}

// fetch returns the value as it is stored, if the request is allowed.
func (v *Vault) fetch(r Request) (value []byte, extra bool, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	ver, err := v.allowed(r)
	if err != nil {
		return nil, false, err
	}
	value, err = v.open(r.Name, ver)
	if err != nil {
		return nil, false, err
	}
	v.touch()
	return value, ver.Extra, nil
}

// allowed returns the version that a request gets, if it is allowed; v.mu is held.
func (v *Vault) allowed(r Request) (ver version, err error) {
	if err := v.ready(); err != nil {
		return ver, err
	}
	if err := v.sound(); err != nil {
		return ver, err
	}
	i, there := v.index.find(r.Name)
	if !there {
		return ver, notThere(r.Name)
	}
	e := &v.index.Entries[i]
	ver = e.Versions[e.at(current)]
	if !slices.Contains(ver.Users, r.User) {
		return ver, agent.Errorf(agent.CodeDenied, "The secret %s is not for %s. Who may use it is set in the vault.", r.Name, orNobody(r.User))
	}
	if !goesTo(ver.Hosts, r.Host) {
		return ver, agent.Errorf(agent.CodeDenied, "The secret %s may not go to %s. Which hosts it may go to is set in the vault.", r.Name, orNowhere(r.Host))
	}
	return ver, nil
}

func orNobody(user string) string {
	if CheckUser(user) != nil {
		return "whoever asks"
	}
	return user
}

func orNowhere(host string) string {
	switch {
	case host == "":
		return "something inside Ash: it is bound to hosts"
	case CheckHost(host) != nil:
		return "that host"
	}
	return host
}

// open decrypts one version and refuses whatever is not exactly what the index says. The value is the caller's.
func (v *Vault) open(name string, ver version) ([]byte, error) {
	sealed, err := v.disk.read(ver.Sealed.File, maxSecret)
	path := v.disk.path(ver.Sealed.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, lost(name, path, err)
	}
	if err != nil {
		if agent.CodeOf(err) == agent.CodeDenied {
			v.drop() // a link, a foreign owner, a mode: the whole vault is no longer trusted
		}
		return nil, err
	}
	if !ver.Sealed.proves(sealed) {
		return nil, lost(name, path, errPayload)
	}
	plain, err := unseal(sealed, v.keys.id)
	if err != nil {
		return nil, lost(name, path, err)
	}
	defer Wipe(plain)
	l, value, err := decodeSecret(plain)
	if err == nil && !l.same(ver.label(v.root.Vault, name)) {
		err = errPayload
	}
	if err != nil {
		return nil, lost(name, path, err)
	}
	return bytes.Clone(value), nil
}

// lost is the refusal of one secret; the others are as they were.
func lost(name, path string, err error) error {
	return agent.Wrap(agent.CodeDenied, err, "The file of the secret %s (%s) is missing, damaged, or not the one the vault wrote last. The other secrets are well. Delete it and add it anew, or put the folder of the vault back from a backup as a whole.", name, path)
}

// Info is what the vault tells of a secret: everything but the value.
type Info struct {
	Name     string
	Hosts    []string
	Users    []string
	Extra    bool // has a passphrase of its own
	Version  int
	Added    time.Time // the value that is used
	Former   bool      // an earlier value is kept until Confirm
	Waiting  bool      // a value was added while locked, and waits for Confirm
	WaitDate time.Time // when that was
}

// List returns all secrets by name. CodeLocked while the vault is locked: names are inside what is encrypted.
func (v *Vault) List() ([]Info, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.ready(); err != nil {
		return nil, err
	}
	all := make([]Info, 0, len(v.index.Entries))
	for _, e := range v.index.Entries {
		ver := e.Versions[e.at(current)]
		info := Info{
			Name: e.Name, Hosts: slices.Clone(ver.Hosts), Users: slices.Clone(ver.Users), Extra: ver.Extra,
			Version: ver.Number, Added: ver.Added, Former: e.at(former) >= 0,
		}
		if i := e.at(waiting); i >= 0 {
			info.Waiting, info.WaitDate = true, e.Versions[i].Added
		}
		all = append(all, info)
	}
	return all, nil
}

// Verify opens every version of every secret and returns what is wrong, by name. CodeLocked while the vault is locked.
func (v *Vault) Verify(ctx context.Context) (map[string]error, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.ready(); err != nil {
		return nil, err
	}
	wrong := make(map[string]error)
	for _, e := range v.index.Entries {
		for _, ver := range e.Versions {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			value, err := v.open(e.Name, ver)
			Wipe(value)
			if err != nil {
				wrong[e.Name] = err
			}
			if v.keys == nil {
				return wrong, err
			}
		}
	}
	return wrong, nil
}
