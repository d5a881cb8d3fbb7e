package main

import (
	"context"
	"sync/atomic"

	"ash/agent/doctor"
)

// wellness is the doctor of the running Ash: its looks are kept for the Health page.
type wellness struct {
	app     *app
	address string
	looks   looking[doctor.Report]
	unkept  atomic.Pointer[doctor.Report] // the newest report, while it could not be stored
}

// newWellness makes it. address is where the pages are, "" when there are none.
func (a *app) newWellness(address string) *wellness {
	w := &wellness{app: a, address: address}
	a.closing = append(a.closing, w.looks.close)
	return w
}

// Examine implements handlers.ControlDoctor.
func (w *wellness) Examine(ctx context.Context, look lookAt) (doctor.Report, error) {
	if look == (lookAt{}) {
		return w.looks.wait(ctx, w.short)
	}
	return w.look(ctx, look, nil)
}

// short is a look as the page makes it.
func (w *wellness) short(ctx context.Context, each func(done, total int)) (doctor.Report, error) {
	return w.look(ctx, lookAt{}, each)
}

// look runs the checks and keeps the report.
func (w *wellness) look(ctx context.Context, look lookAt, each func(done, total int)) (doctor.Report, error) {
	eyes := w.app.ownEyes(w.address)
	report := eyes.doctor(look, w.app.hands.guard.Redact).Run(ctx, func(done, total int, _ doctor.Finding) {
		if each != nil {
			each(done, total)
		}
	})
	if err := ctx.Err(); err != nil {
		return report, err
	}
	if err := w.app.store.AddHealthReport(context.WithoutCancel(ctx), report); err != nil {
		w.app.log.WarnContext(ctx, "the report of the doctor was not kept", "error", err) // it is still told: a full disk may be what it found
		w.unkept.Store(&report)
		return report, nil
	}
	w.unkept.Store(nil)
	return report, nil
}

// Begin starts a look in the background, unless one is under way.
func (w *wellness) Begin() { w.looks.begin(w.short) }

// Progress says how far the look under way is.
func (w *wellness) Progress() (running bool, done, total int) {
	running, done, total, _ = w.looks.state()
	return running, done, total
}

// Last returns the newest report; false when there is none.
func (w *wellness) Last(ctx context.Context) (doctor.Report, bool, error) {
	if report := w.unkept.Load(); report != nil {
		return *report, true, nil
	}
	return w.app.store.LastHealthReport(ctx)
}
