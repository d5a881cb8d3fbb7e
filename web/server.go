package web

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
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
	Home   string   // where session.key lies; must exist
	Hosts  []string // further names of this machine, besides the loopback ones
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
	log      *slog.Logger
	echo     *echo.Echo
	sessions *jar
	problem  func(echo.Context, handlers.Problem) error
	ready    func(context.Context) error
	stopping func(context.Context) error
	stopped  atomic.Bool
	open     context.Context // ends when streams have to
	end      context.CancelFunc
}

// New makes a server. Errors: those of reading or making the session key.
func New(cfg Config) (*Server, error) { return build(cfg, (*Server).table) }

func build(cfg Config, table func(*Server, Routes) []route) (*Server, error) {
	sessions, err := newJar(cfg.Home)
	if err != nil {
		return nil, err
	}
	e := echo.New()
	s := &Server{log: cfg.Log, echo: e, sessions: sessions, problem: cfg.Routes.Problem, ready: cfg.Ready, stopping: cfg.Stopping}
	s.open, s.end = context.WithCancel(context.Background())
	e.HTTPErrorHandler = s.fail
	e.IPExtractor = echo.ExtractIPDirect()
	e.Logger.SetOutput(io.Discard) // everything is logged through slog
	e.Use(
		identify,
		access(cfg.Log),
		recovering(cfg.Log),
		protect,
		admit(cfg.Hosts),
		sameOrigin,
	)
	s.register(cfg.Routes, table(s, cfg.Routes))
	return s, nil
}

// Serve answers on all listeners until ctx ends, then stops in this order:
// no new connections; Stopping; streams end, the slow ones after a second; the
// answers under way are waited for, up to 4 s in all. It closes the listeners and returns nil after a stop
// that was asked for, whatever had to be cut off.
func (s *Server) Serve(ctx context.Context, listeners ...net.Listener) error {
	srv := &http.Server{
		Handler:           s.echo,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       ioTimeout,
		WriteTimeout:      ioTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ConnContext:       markSocket,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
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
	for _, l := range listeners {
		warn("closing listener", l.Close())
	}
	if s.stopping != nil {
		warn("stopping", s.stopping(ctx))
	}
	defer s.end()
	defer time.AfterFunc(farewell, s.end).Stop()
	if err := srv.Shutdown(ctx); err != nil {
		warn("answers cut off", err)
		warn("closing", srv.Close())
	}
}
