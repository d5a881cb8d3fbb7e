package sandbox

import (
	"context"
	"errors"
	"os"
	"strconv"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"

	"ash/agent"
)

// endJobs ends everything in the container of a thread.
func (d *docker) endJobs(ctx context.Context, thread agent.ID) error {
	d.mu.Lock()
	s := d.slots[thread]
	var b *box
	if s != nil {
		b = s.box
	}
	d.mu.Unlock()
	if b == nil || b.isGone() {
		return nil
	}
	if !b.clear() {
		d.drop(s, b)
	}
	return ctx.Err()
}

// release removes the container of a thread and waits until that is done.
func (d *docker) release(ctx context.Context, thread agent.ID) error {
	d.mu.Lock()
	s := d.slots[thread]
	var b *box
	if s != nil {
		b, s.box = s.box, nil
		if s.users == 0 {
			delete(d.slots, thread)
		}
	}
	d.mu.Unlock()
	if b == nil {
		return nil
	}
	d.remove(b)
	return d.settled(ctx)
}

// removeAll removes every container of this process, side by side.
func (d *docker) removeAll(ctx context.Context) error {
	d.mu.Lock()
	var all []*box
	for thread, s := range d.slots {
		if s.box != nil {
			all = append(all, s.box)
			s.box = nil
		}
		if s.users == 0 {
			delete(d.slots, thread)
		}
	}
	for b := range d.loose {
		all = append(all, b)
	}
	d.mu.Unlock()
	for _, b := range all {
		d.remove(b)
	}
	return d.settled(ctx)
}

// tend starts the janitor, which removes containers nobody used for idle, and those whose jobs in the background fill the disk.
func (d *docker) tend(idle time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.janitor != nil {
		return
	}
	stop := make(chan struct{})
	d.janitor = stop
	d.sweeping.Go(func() {
		tick := time.NewTicker(min(max(idle/4, 50*time.Millisecond), 30*time.Second))
		defer tick.Stop()
		disk := time.NewTicker(watchEvery)
		defer disk.Stop()
		for {
			select {
			case <-stop:
				return
			case <-disk.C:
				d.guardDisk()
			case now := <-tick.C:
				if d.sweep(now, idle) == 0 {
					d.mu.Lock()
					if d.janitor == stop && d.boxes() == 0 {
						d.janitor = nil
						d.mu.Unlock()
						return
					}
					d.mu.Unlock()
				}
			}
		}
	})
}

// guardDisk ends jobs in the background of threads whose disk is nearly full. While a command runs, watch does so and says why.
func (d *docker) guardDisk() {
	type place struct {
		*slot
		box   *box
		root  string
		least int64
	}
	var all []place
	d.mu.Lock()
	for _, s := range d.slots {
		if s.box != nil && s.users == 0 {
			all = append(all, place{s, s.box, s.root, s.least})
		}
	}
	d.mu.Unlock()
	for _, p := range all {
		if err := checkFree(p.root, p.least); err != nil {
			d.log.Warn("a sandbox is removed with what ran in its background: its disk is nearly full", "container", short(p.box.id), "err", err)
			d.drop(p.slot, p.box)
		}
	}
}

// boxes counts containers; callers hold mu.
func (d *docker) boxes() (n int) {
	for _, s := range d.slots {
		if s.box != nil {
			n++
		}
	}
	return n
}

// sweep removes what was idle too long and returns how many containers remain.
func (d *docker) sweep(now time.Time, idle time.Duration) int {
	d.mu.Lock()
	var old []*box
	for thread, s := range d.slots {
		if s.users > 0 || now.Sub(s.used) < idle {
			continue
		}
		if s.box != nil {
			old = append(old, s.box)
			s.box = nil
		}
		delete(d.slots, thread)
	}
	left := d.boxes()
	d.mu.Unlock()
	for _, b := range old {
		d.remove(b)
	}
	return left
}

// close removes everything and waits.
func (d *docker) close(ctx context.Context) error {
	d.mu.Lock()
	if d.janitor != nil {
		close(d.janitor)
		d.janitor = nil
	}
	d.mu.Unlock()
	d.sweeping.Wait()
	err := d.removeAll(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.link != nil {
		err = errors.Join(err, d.link.cli.Close())
		d.link = nil
	}
	return err
}

// containers lists those of this home.
func (d *docker) containers(ctx context.Context, l *dockerLink) ([]container.Summary, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	return l.cli.ContainerList(ctx, container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", labelHome+"="+d.home))})
}

// recover removes containers of processes that are dead. Without an engine there is nothing to do.
func (d *docker) recover(ctx context.Context, s Settings) (removed int, err error) {
	if s.Engine == EngineOff || s.Engine == EngineBubblewrap {
		return 0, nil
	}
	l, err := d.connect(ctx, s)
	if err != nil {
		return 0, nil //nolint:nilerr // the engine is asked again at the next start
	}
	list, err := d.containers(ctx, l)
	if err != nil {
		return 0, agent.Wrap(agent.CodeUnavailable, err, "%s does not list its containers.", l.brand())
	}
	for _, c := range list {
		pid, numErr := strconv.Atoi(c.Labels[labelPID])
		if c.Labels[labelBoot] == d.boot || (numErr == nil && pid != os.Getpid() && alive(pid)) {
			continue
		}
		if eraseErr := l.erase(c.ID); eraseErr != nil {
			err = errors.Join(err, eraseErr)
			continue
		}
		removed++
	}
	return removed, err
}
