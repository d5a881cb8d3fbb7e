package vault

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"

	"ash/agent"
)

// DefaultIdle is how long an unlocked vault that nothing uses keeps its keys.
const DefaultIdle = 12 * time.Hour

// Options of a vault; the zero value is usable.
type Options struct {
	WorkFactor int           // of scrypt, MinWork to MaxWork; 0: MinWork
	Idle       time.Duration // locks after so long without a use; 0: DefaultIdle; below 0: never
	Log        Log           // nil: nothing is kept
	Anchor     Anchor        // nil: an earlier state of the whole folder is not noticed
	Logger     *slog.Logger  // nil: none
	hooks      hooks
}

// hooks are for tests of this package; nothing else can set them.
type hooks struct {
	work int                     // work factor below MinWork
	step func(step string) error // stops or fails before a step on the disk
	uid  func() int              // whose the files have to be
	now  func() time.Time
	wake time.Duration // how often the idle time is looked at
}

// Vault keeps the secrets of one home. It is safe for use by many goroutines; one process has it at a time.
type Vault struct {
	o    Options
	disk *disk
	lock *flock.Flock
	slow chan struct{} // scrypt: one at a time

	mu    sync.Mutex
	keys  *keys // nil: locked
	root  root  // with keys only
	index *index
	notes []string

	remark string // see Remark; "" once it was unlocked

	since time.Time // when it was unlocked
	used  time.Time // last
	run   time.Time // the same by the clock that only runs while the machine does
	timer *time.Timer
	known map[string]string // values by file, for Values
	ended bool              // closed: another process may have it
	wrong int               // passphrases in a row that were not it
	again time.Time         // when the next one is tried

	next chan struct{} // closed at the next change

	values  atomic.Pointer[[]string] // nil: locked
	unlocks atomic.Uint64
}

// Errors that mean more than their code.
var (
	// errNone says that no vault was made yet.
	errNone = errors.New("there is no vault")
	// errOlder says that the vault is not the one, or older than the one, that was here before.
	errOlder = errors.New("older than the mark")
)

// Open takes the vault in dir, which need not exist, for this process: beside it lies dir+".lock". It stays locked; what is wrong with it
// Status tells. Errors: CodeConflict while another process has it, CodeInvalid for options out of range.
func Open(dir string, o Options) (*Vault, error) {
	if o.WorkFactor == 0 {
		o.WorkFactor = MinWork
	}
	if o.WorkFactor < MinWork || o.WorkFactor > MaxWork {
		return nil, agent.Errorf(agent.CodeInvalid, "The work factor of the vault is %d or %d.", MinWork, MaxWork)
	}
	if o.hooks.work != 0 {
		o.WorkFactor = o.hooks.work
	}
	if o.hooks.uid == nil {
		o.hooks.uid = os.Geteuid
	}
	if o.hooks.now == nil {
		o.hooks.now = time.Now
	}
	if o.hooks.wake == 0 {
		o.hooks.wake = wake
	}
	if o.Idle == 0 {
		o.Idle = DefaultIdle
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	path := dir + ".lock"
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, agent.Errorf(agent.CodeDenied, "%s is not an ordinary file. Remove it; Ash makes its own.", path)
	}
	lock := flock.New(path, flock.SetPermissions(0o600))
	got, err := lock.TryLock()
	if err != nil {
		return nil, fileError(err, "lock", path)
	}
	if !got {
		return nil, agent.Errorf(agent.CodeConflict, "Another Ash has the vault %s at this moment. Use that one, or stop it first.", dir)
	}
	return &Vault{
		o: o, lock: lock, slow: make(chan struct{}, 1), next: make(chan struct{}),
		disk: &disk{dir: dir, uid: o.hooks.uid(), step: o.hooks.step},
	}, nil
}

// Close locks the vault for good and lets other processes have it. What is being unlocked or changed at this moment is refused.
func (v *Vault) Close() error {
	v.mu.Lock()
	v.drop()
	v.ended = true
	v.mu.Unlock()
	return v.lock.Unlock()
}

// Status is what a person may see of a vault at any time. It names no secret.
type Status struct {
	Dir       string
	ID        string // of the vault, from its root, which is believed only while it is unlocked; "" where there is none
	Exists    bool
	Unlocked  bool
	Problem   string    // why it cannot be unlocked as it stands, with the command that helps; "" when all is well
	Notes     []string  // what is wrong without being in the way
	Secrets   int       // how many there are; -1 while locked
	Incoming  int       // added while locked, not yet taken in
	Waiting   int       // versions that wait for a word: waiting to be used, or former ones to be dropped; -1 while locked
	Recovery  bool      // a recovery phrase was made
	Since     time.Time // unlocked since
	LocksAt   time.Time // when it locks by itself if nothing uses it; zero: never, or locked
	Serial    uint64    // number of the last change
	Encrypted string    // recipient that secrets are encrypted to
}

// Status looks at the vault anew.
func (v *Vault) Status(ctx context.Context) Status {
	v.mu.Lock()
	defer v.mu.Unlock()
	s, err := v.inspect(ctx)
	if code := agent.CodeOf(err); v.keys != nil && (code == agent.CodeDenied || code == agent.CodeConflict || code == agent.CodeNotFound) {
		v.drop() // what would not be unlocked does not stay unlocked
	}
	if v.ready() != nil {
		if v.remark != "" {
			s.Notes = append(s.Notes, v.remark)
		}
		return s
	}
	s.Unlocked, s.Since, s.Secrets, s.Waiting = true, v.since, len(v.index.Entries), 0
	s.Notes = append(s.Notes, v.notes...)
	if v.o.Idle > 0 {
		s.LocksAt = v.used.Add(v.o.Idle)
	}
	for _, e := range v.index.Entries {
		s.Waiting += len(e.Versions) - 1
	}
	return s
}

// Inspect is Status of a vault that another process may have. It takes no lock and changes nothing.
func Inspect(ctx context.Context, dir string, anchor Anchor) Status {
	v := &Vault{o: Options{Anchor: anchor}, disk: &disk{dir: dir, uid: os.Geteuid()}}
	s, _ := v.inspect(ctx) // the error is in it, as Problem
	return s
}

func (v *Vault) inspect(ctx context.Context) (s Status, err error) {
	s = Status{Dir: v.disk.dir, Secrets: -1, Waiting: -1}
	r, _, err := v.look(ctx, false)
	if errors.Is(err, errNone) {
		return s, err
	}
	s.Exists = true
	if err != nil {
		s.Problem = agent.PublicOf(err)
		return s, err
	}
	s.ID = r.Vault
	s.Recovery, s.Serial, s.Encrypted = r.Recovery != ref{}, r.Serial, r.Recipient
	all, err := v.disk.list()
	if err != nil {
		s.Problem = agent.PublicOf(err)
	}
	for _, name := range all {
		if isNewFile(name) {
			s.Incoming++
		}
	}
	return s, err
}

// look reads the root without believing it, and refuses a folder that is not as the vault left it. accept lets an older state pass.
// The error wraps errNone when there is no vault yet, errOlder when it is not the last one there was.
func (v *Vault) look(ctx context.Context, accept bool) (r root, text []byte, err error) {
	if v.ended {
		return r, nil, agent.Errorf(agent.CodeUnavailable, "Ash is ending, so the vault stays closed.")
	}
	mark, err := v.mark(ctx)
	if err != nil {
		return r, nil, err
	}
	_, err = os.Lstat(v.disk.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil, v.none(mark)
	}
	if err != nil {
		return r, nil, fileError(err, "look at", v.disk.dir)
	}
	text, err = v.disk.read(rootFile, maxSmall)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil, v.noRoot(mark)
	}
	if cerr := v.disk.check(); cerr != nil {
		return r, nil, cerr
	}
	if err != nil {
		return r, nil, err
	}
	return v.readRoot(text, mark, accept)
}

func (v *Vault) readRoot(text []byte, mark Mark, accept bool) (r root, _ []byte, err error) {
	head, err := v.disk.read(sentinelFile, maxSmall)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil, agent.Wrap(agent.CodeDenied, err, "%s is missing, so the vault stays locked: this may not be the folder it was. If a disk is not mounted, mount it; otherwise run: ash vault repair", v.disk.path(sentinelFile))
	}
	if err != nil {
		return r, nil, err
	}
	s, err := decodeSentinel(head)
	if err != nil {
		return r, nil, broken(v.disk.path(sentinelFile), err)
	}
	r, err = decodeRoot(text)
	if err == nil && r.Vault != s.Vault {
		err = errPayload
	}
	if err != nil {
		return r, nil, broken(v.disk.path(rootFile), err)
	}
	if (mark != Mark{}) && !accept && (mark.Vault != r.Vault || mark.Serial > r.Serial) {
		return r, nil, older(v.disk.dir)
	}
	return r, text, nil
}

// broken is damaged for the two files that can be made anew from the others.
func broken(path string, err error) error {
	return agent.Wrap(agent.CodeDenied, err, "%s is damaged, or not the file that the vault wrote there. Nothing was changed. Put the folder of the vault back from a backup as a whole, or run: ash vault repair", path)
}

// older is the refusal of an earlier state.
func older(dir string) error {
	return agent.Wrap(agent.CodeConflict, errOlder, "The vault in %s is older than the one Ash last used, or another one: somebody put an earlier copy there. If that was you, restoring a backup, run: ash vault accept", dir)
}

// none is the answer to a missing folder.
func (v *Vault) none(mark Mark) error {
	if (mark != Mark{}) {
		return agent.Errorf(agent.CodeDenied, "The vault %s is gone, though there was one. If a disk is not mounted, mount it; otherwise put the folder back from a backup. To begin anew without it: ash vault create --anew", v.disk.dir)
	}
	return agent.Wrap(agent.CodeNotFound, errNone, "There is no vault yet. It is made with the first secret, or with: ash vault create")
}

// noRoot tells a vault whose making was broken off from one that lost its root.
func (v *Vault) noRoot(mark Mark) error {
	all, err := v.disk.list()
	if err != nil {
		return err
	}
	for _, name := range all {
		if isSecretFile(name) || isNewFile(name) || (mark != Mark{}) {
			return broken(v.disk.path(rootFile), fs.ErrNotExist)
		}
	}
	if err := v.disk.checkFolders(); err != nil && agent.CodeOf(err) == agent.CodeDenied && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return v.none(mark)
}

// mark returns what the anchor keeps; an anchor that cannot be asked locks the vault.
func (v *Vault) mark(ctx context.Context) (Mark, error) {
	if v.o.Anchor == nil {
		return Mark{}, nil
	}
	m, err := v.o.Anchor.Mark(ctx)
	if err != nil {
		return Mark{}, agent.Wrap(agent.CodeUnavailable, err, "Whether the vault is as it was left cannot be told, so it stays locked. The log says why.")
	}
	return m, nil
}

// slowly waits until no other scrypt runs in this vault, so that memory is bounded however many try at once; done gives that memory back to the system.
func (v *Vault) slowly(ctx context.Context) (done func(), err error) {
	select {
	case v.slow <- struct{}{}:
		return func() {
			if v.o.hooks.work == 0 { // collecting garbage is most of the work of a test's scrypt
				debug.FreeOSMemory()
			}
			<-v.slow
		}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// ready refuses with CodeLocked unless the vault is unlocked. It also locks one whose time ran out while the machine slept.
func (v *Vault) ready() error {
	if v.keys != nil && v.idled() {
		v.lapse()
	}
	if v.keys == nil {
		return agent.Errorf(agent.CodeLocked, "The vault is locked. Unlock it to go on.")
	}
	return nil
}

// drop forgets everything that unlocking yielded.
func (v *Vault) drop() {
	if v.keys != nil {
		defer v.changed()
	}
	v.keys.wipe()
	v.values.Store(nil)
	v.keys, v.index, v.root, v.notes, v.known = nil, nil, root{}, nil, nil
	v.since, v.used, v.run = time.Time{}, time.Time{}, time.Time{}
	if v.timer != nil {
		v.timer.Stop()
		v.timer = nil
	}
}

// Lock drops the keys from memory.
func (v *Vault) Lock(ctx context.Context) {
	v.mu.Lock()
	was := v.keys != nil
	v.drop()
	v.mu.Unlock()
	if was {
		v.record(ctx, Access{Action: ActionLock, Allowed: true})
	}
}

// record writes what already happened to the access log; that it cannot is noted, not an error of what happened.
func (v *Vault) record(ctx context.Context, a Access) {
	if err := v.recordFirst(ctx, a); err != nil {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.unrecorded(ctx, a.Action, err)
	}
}

// unrecorded tells that what happened is not in the access log; v.mu is held.
func (v *Vault) unrecorded(ctx context.Context, action Action, err error) {
	v.o.Logger.ErrorContext(ctx, "access to the vault not recorded", slog.String("action", string(action)), slog.Any("error", err))
	v.note("The access log cannot be written: " + agent.PublicOf(err))
}

// recordFirst writes to the access log what must not happen unseen.
func (v *Vault) recordFirst(ctx context.Context, a Access) error {
	if v.o.Log == nil {
		return nil
	}
	a.At = v.o.hooks.now().UTC()
	a.User, a.Host, a.For = short(a.User), short(a.Host), short(a.For)
	if err := v.o.Log.Record(context.WithoutCancel(ctx), a); err != nil {
		return agent.Wrap(agent.CodeUnavailable, err, "The vault's access log cannot be written, so nothing is handed out.")
	}
	return nil
}

// short bounds what others put into the access log.
func short(s string) string {
	if len(s) > maxHost {
		s = s[:maxHost]
	}
	return strings.ToValidUTF8(s, "")
}

// outcome completes a for what became of it.
func outcome(a Access, err error) Access {
	a.Allowed, a.Why = err == nil, agent.CodeOf(err)
	return a
}

// note keeps something that the person should know, once.
func (v *Vault) note(text string) {
	for _, n := range v.notes {
		if n == text {
			return
		}
	}
	if len(v.notes) < 50 {
		v.notes = append(v.notes, text)
	}
}
