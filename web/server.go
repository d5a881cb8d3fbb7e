package web

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
	"golang.org/x/sync/errgroup"

	"ash/agent"
	"ash/handlers"
)

// stopTimeout bounds a graceful stop, so that the whole process is gone within
// 5 s of being asked.
const stopTimeout = 4 * time.Second

// farewell is how long streams have to end by themselves, so that the last events reach
// the pages, before they are ended.
const farewell = time.Second

// Config is what a Server is made of.
type Config struct {
	Home string // where session.key lies; must exist
	// Doors know who is signed in; nil: nobody ever is, and only this machine is let in.
	Doors Doors
	// Admission is what the settings say of who may come in; nil is the zero Admission.
	Admission func() Admission
	// Certified says whether browsers that came by a name over TLS may insist on TLS from then on. Nil: no name.
	Certified func(name string) bool
	// Mask takes the vault's values out of a text; nil: there are none.
	Mask   func(text string) string
	Log    *slog.Logger
	Routes Routes
	// Ready says why Ash cannot work at present; nil means it can.
	Ready func(context.Context) error
	// Stopping is called once, after the listeners are closed and while streams are still open:
	// running answers are put away here, and their last events still reach the pages. May be nil.
	Stopping func(context.Context) error
}

// Server serves Ash over HTTP. Make it with New, run it once with Serve.
type Server struct {
	log       *slog.Logger
	echo      *echo.Echo
	sessions  *jar
	doors     Doors // nil: nobody is signed in
	admission func() Admission
	certified func(name string) bool
	public    map[string]bool // routes that need no session: "GET /path", or the path of what is no route
	problem   func(echo.Context, handlers.Problem) error
	ready     func(context.Context) error
	stopping  func(context.Context) error
	stopped   atomic.Bool
	open      context.Context // ends when streams have to
	end       context.CancelFunc

	mu      sync.Mutex
	added   map[*Door]bool // guarded by mu
	changed chan struct{}  // guarded by mu; closed, and replaced, when the admission changed
}

// New makes a server. Errors: those of reading or making the session key.
func New(cfg Config) (*Server, error) { return build(cfg, (*Server).table) }

func build(cfg Config, table func(*Server, Routes) []route) (*Server, error) {
	sessions, err := newJar(cfg.Home, cfg.Doors)
	if err != nil {
		return nil, err
	}
	e := echo.New()
	if cfg.Admission == nil {
		cfg.Admission = func() Admission { return Admission{} }
	}
	if cfg.Certified == nil {
		cfg.Certified = func(string) bool { return false }
	}
	s := &Server{
		log: cfg.Log, echo: e, sessions: sessions, doors: cfg.Doors, admission: cfg.Admission, certified: cfg.Certified,
		problem: cfg.Routes.Problem, ready: cfg.Ready, stopping: cfg.Stopping,
		public: map[string]bool{}, added: map[*Door]bool{}, changed: make(chan struct{}),
	}
	s.open, s.end = context.WithCancel(context.Background())
	e.HTTPErrorHandler = s.fail
	e.IPExtractor = echo.ExtractIPDirect()
	e.Logger.SetOutput(io.Discard) // everything is logged through slog
	e.Use(
		identify,
		masked(cfg.Mask),
		access(cfg.Log),
		recovering(cfg.Log),
		s.protect,
		s.admit,
		upgrade,
		sameOrigin,
		s.gate,
	)
	s.register(cfg.Routes, table(s, cfg.Routes))
	return s, nil
}

// Serve answers on all listeners until ctx ends, then stops in this order:
// no new connections; Stopping; streams end, the slow ones after a second; the
// answers under way are waited for, up to 4 s in all. It closes the listeners and returns nil after a stop
// that was asked for, whatever had to be cut off. Doors opened meanwhile stop with it, in the same order.
func (s *Server) Serve(ctx context.Context, listeners ...net.Listener) error {
	srv := s.newHTTP()
	group, ctx := errgroup.WithContext(ctx)
	for _, l := range listeners {
		group.Go(func() error {
			err := srv.Serve(l)
			if errors.Is(err, http.ErrServerClosed) || s.stopped.Load() && errors.Is(err, net.ErrClosed) {
				return nil
			}
			return agent.Wrap(agent.CodeUnavailable, err, "Ash can no longer listen on %s.", l.Addr())
		})
	}
	group.Go(func() error {
		<-ctx.Done()
		s.stop(ctx, srv, listeners)
		return nil
	})
	return group.Wait()
}

func (s *Server) stop(ctx context.Context, srv *http.Server, listeners []net.Listener) {
	s.stopped.Store(true)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	warn := func(what string, err error) {
		if err != nil && !errors.Is(err, net.ErrClosed) {
			s.log.LogAttrs(ctx, slog.LevelWarn, what, slog.String("error", err.Error()))
		}
	}
	listeners, servers := slices.Clone(listeners), []*http.Server{srv}
	for _, d := range s.openDoors() {
		listeners, servers = append(listeners, d.l), append(servers, d.http)
	}
	for _, l := range listeners {
		warn("closing listener", l.Close())
	}
	if s.stopping != nil {
		warn("stopping", s.stopping(ctx))
	}
	defer s.end()
	defer time.AfterFunc(farewell, s.end).Stop()
	var all sync.WaitGroup
	for _, srv := range servers {
		all.Go(func() {
			if err := srv.Shutdown(ctx); err != nil {
				warn("answers cut off", err)
				warn("closing", srv.Close())
			}
		})
	}
	all.Wait()
}

// Reconsider looks again who may come in, after the admission changed: streams of those who no longer may end.
func (s *Server) Reconsider() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.changed)
	s.changed = make(chan struct{})
}

// changing is closed at the next Reconsider.
func (s *Server) changing() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}
