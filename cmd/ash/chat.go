package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ash/agent"
	"ash/handlers"
)

// maxPiped bounds what is read from standard input for one message, in bytes: as
// much as a message may hold.
const maxPiped = 1 << 20

// chatFlags are the flags of ash chat.
type chatFlags struct {
	modelFlags
	message string
	thread  string
	last    bool
	json    bool
	here    bool
}

func chatCommand(home func() (string, error)) *cobra.Command {
	var f chatFlags
	cmd := &cobra.Command{
		Use:   "chat",
		Short: "Talk in the terminal",
		Long: `Talk with Ash in the terminal. The conversation is the same as in the browser:
when a server runs on this home, the terminal joins it; else this command keeps
the home itself while it runs.

With -m it sends one message, prints the answer and ends. What is piped in is
added to the message, or is the message. With --json every event is one line.

With --here the conversation works in the git repository around the current
folder, or in that folder, in place of Ash's own: as a programming agent.

What must be approved is asked in the terminal. Where nobody can be asked
(input is piped in, or --json), it is left waiting, in the browser and in
"ash chat --last".

Exit codes: 0 answered, 1 failed, 2 wrong usage, 3 model or server unavailable,
4 waits for your decision, 130 interrupted.`,
		Example: `  ash chat
  ash chat -m "What did we say about the tax folder?"
  git diff | ash chat -m "Review this" --model ollama/qwen3:8b
  ash chat --last -m "Shorter, please" --json
  ash chat --here -m "Why does the build fail?"`,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.thread != "" && f.last {
				return usageError{errors.New("--thread and --last exclude each other")}
			}
			if f.thread != "" && f.here {
				return usageError{errors.New("--thread and --here exclude each other: a conversation keeps its folder")}
			}
			return usageArgs(cobra.NoArgs)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return runChat(cmd, home, f) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.message, "message", "m", "", "send this one message and print the answer")
	flags.StringVar(&f.thread, "thread", "", "go on in this conversation (its id stands in the browser's address)")
	flags.BoolVar(&f.last, "last", false, "go on in the newest conversation")
	flags.BoolVar(&f.here, "here", false, "work in the current folder's repository (with --last: in the newest conversation there)")
	flags.BoolVar(&f.json, "json", false, "print events as JSON, one a line")
	f.register(flags)
	return cmd
}

func runChat(cmd *cobra.Command, home func() (string, error), f chatFlags) (err error) {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(interrupts)
	ctx := context.WithoutCancel(cmd.Context()) // an interrupt stops the answer, and its end is still told
	dir, err := home()
	if err != nil {
		return err
	}
	// Read before the home is taken: whoever writes at the other end may take long, or be Ash itself.
	message, in := f.message, bufio.NewReader(cmd.InOrStdin())
	piped := !isTerminal(cmd.InOrStdin())
	if piped {
		if message, err = withInput(message, in); err != nil {
			return err
		}
	}
	link, err := connect(ctx, dir, f.modelFlags)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, link.close()) }()
	t := &terminal{link: link, in: in, out: cmd.OutOrStdout(), notes: cmd.ErrOrStderr(), json: f.json, ask: !piped && !f.json, interrupts: interrupts}
	if t.ask {
		reading, done := context.WithCancel(ctx)
		defer done()
		t.typed = t.lines(reading)
	}
	if err := t.choose(ctx, f); err != nil {
		return err
	}
	if message == "" && !piped {
		return t.converse(ctx)
	}
	return t.say(ctx, message)
}

// withInput adds what was piped in to the message.
func withInput(message string, in io.Reader) (string, error) {
	b, err := io.ReadAll(io.LimitReader(in, maxPiped+1))
	if err != nil {
		return "", agent.Wrap(agent.CodeInvalid, err, "Standard input could not be read.")
	}
	if len(b) > maxPiped {
		return "", agent.Errorf(agent.CodeInvalid, "Standard input is longer than %d MB. Send less of it.", maxPiped>>20)
	}
	if !utf8.Valid(b) {
		return "", agent.Errorf(agent.CodeInvalid, "Standard input is not text in UTF-8. Attach such a file in the browser.")
	}
	input := strings.TrimSpace(string(b))
	switch {
	case input == "" && strings.TrimSpace(message) == "":
		return "", agent.Errorf(agent.CodeInvalid, "There is no message: give one with -m, or pipe one in.")
	case input == "":
		return message, nil
	case message == "":
		return input, nil
	}
	return message + "\n\n" + input, nil
}

func isTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// terminal is one conversation in the terminal.
type terminal struct {
	link       *link
	in         *bufio.Reader
	out        io.Writer
	notes      io.Writer
	json       bool
	ask        bool             // somebody is there to decide
	typed      <-chan string    // lines of in, when somebody is there
	early      []string         // lines typed before they were asked for
	model      string           // of the conversation from here on; "" leaves it
	thread     agent.ID         // "" until something is said in a new one
	root, dir  string           // where a new one works: --here
	interrupts <-chan os.Signal // Ctrl-C, and the request to end
	leaving    bool             // the request to end came
}

// choose finds the conversation to go on in. A new one is made when something is said in it.
func (t *terminal) choose(ctx context.Context, f chatFlags) (err error) {
	if !t.link.own() || f.thread != "" || f.last { // otherwise the flag already stands in the settings
		t.model = f.model
	}
	if f.here {
		if err := t.settleHere(ctx); err != nil {
			return err
		}
	}
	switch {
	case f.thread != "":
		t.thread, err = agent.ParseID(f.thread)
		return err
	case f.last:
		threads, err := t.link.threads(ctx)
		if err != nil {
			return err
		}
		if f.here {
			threads = slices.DeleteFunc(threads, func(x handlers.ControlThread) bool { return x.Root != t.root })
		}
		if len(threads) == 0 {
			return agent.Errorf(agent.CodeNotFound, "There is no conversation yet.")
		}
		// The list has pinned ones first.
		t.thread = slices.MaxFunc(threads, func(a, b handlers.ControlThread) int { return a.Updated.Compare(b.Updated) }).ID
	}
	return nil
}

const chatHelp = `/new       begin another conversation
/continue  go on after an answer that was cut off
/waiting   decide about what waits for you here
/help      this text
/quit      leave (Ctrl-D does too)
Ctrl-C stops an answer; at the prompt it leaves.`

// converse reads messages until the person leaves.
func (t *terminal) converse(ctx context.Context) error {
	fmt.Fprintln(t.notes, "Ash · /help for help, Ctrl-D to leave")
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t.ask = !t.json
	if t.typed == nil {
		t.typed = t.lines(ctx)
	}
	leave, failure := false, t.takeUp(ctx)
	for {
		switch {
		case leave || t.leaving:
			return nil
		case errors.Is(failure, context.Canceled):
			fmt.Fprintln(t.notes, "[stopped]")
		case failure != nil:
			fmt.Fprintln(t.notes, agent.PublicOf(failure))
		}
		line, more, err := t.next(ctx)
		if !more || err != nil {
			fmt.Fprintln(t.notes)
			return nil
		}
		leave, failure = t.obey(ctx, line)
	}
}

// next asks for a line of the prompt. Those typed ahead come first.
func (t *terminal) next(ctx context.Context) (line string, more bool, err error) {
	fmt.Fprint(t.notes, "› ")
	if len(t.early) > 0 {
		line, t.early = t.early[0], t.early[1:]
		fmt.Fprintln(t.notes, shown(line))
		return line, true, nil
	}
	return t.line(ctx)
}

// line waits for a line; more is false at the end of the input. The error is context.Canceled for an interrupt.
func (t *terminal) line(ctx context.Context) (line string, more bool, err error) {
	select {
	case line, more = <-t.typed:
		return line, more, nil
	case s := <-t.interrupts:
		t.leaving = t.leaving || s != os.Interrupt
		return "", false, context.Canceled
	case <-ctx.Done():
		return "", false, ctx.Err()
	}
}

// lines reads the input beside everything else until it ends or ctx does. A read that
// waits for the person ends with the process.
func (t *terminal) lines(ctx context.Context) <-chan string {
	out := make(chan string)
	go func() {
		defer close(out)
		for {
			line, err := t.in.ReadString('\n')
			if line = strings.TrimSpace(line); line != "" || err == nil {
				select {
				case out <- line:
				case <-ctx.Done():
					return
				}
			}
			if err != nil {
				return // the end of the input is how one leaves
			}
		}
	}()
	return out
}

// obey carries out one line of the prompt.
func (t *terminal) obey(ctx context.Context, line string) (leave bool, err error) {
	switch line {
	case "":
	case "/quit", "/exit":
		return true, nil
	case "/help":
		fmt.Fprintln(t.notes, chatHelp)
	case "/new":
		t.thread = ""
	case "/waiting":
		if t.thread == "" {
			return false, agent.Errorf(agent.CodeInvalid, "Nothing was said yet.")
		}
		return false, t.takeUp(ctx)
	case "/continue":
		if t.thread == "" {
			return false, agent.Errorf(agent.CodeInvalid, "Nothing was said yet.")
		}
		return false, t.follow(ctx, func(ctx context.Context) (agent.ID, error) {
			p, err := t.link.goOn(ctx, t.thread)
			return p.Turn, err
		})
	default:
		if strings.HasPrefix(line, "/") && !strings.Contains(line, " ") {
			return false, agent.Errorf(agent.CodeInvalid, "There is no command %s; /help lists them.", line)
		}
		return false, t.say(ctx, line)
	}
	return false, nil
}

// say posts one message and prints the answer.
func (t *terminal) say(ctx context.Context, text string) error {
	if t.thread == "" {
		made, err := t.link.create(ctx, handlers.ControlNewThread{Root: t.root, Dir: t.dir})
		if err != nil {
			return err
		}
		t.thread = made.ID
	}
	m := handlers.ControlMessage{Text: text, Form: string(agent.NewID()), Model: t.model}
	return t.follow(ctx, func(ctx context.Context) (agent.ID, error) {
		p, err := t.link.post(ctx, t.thread, m)
		return p.Turn, err
	})
}

// stopOnInterrupt makes Ctrl-C press Stop until the returned function is called. Who
// presses it again does not want to wait for the end: giveUp is called.
func (t *terminal) stopOnInterrupt(ctx context.Context, giveUp func()) (done func()) {
	over := make(chan struct{})
	var watching sync.WaitGroup
	stop := func() {
		if err := t.link.stop(ctx, t.thread); err != nil && ctx.Err() == nil {
			fmt.Fprintln(t.notes, agent.PublicOf(err))
		}
	}
	watching.Go(func() {
		for first := true; ; first = false {
			select {
			case s := <-t.interrupts:
				t.leaving = t.leaving || s != os.Interrupt
			case <-over:
				return
			}
			if !first {
				giveUp()
				return
			}
			watching.Go(stop)
		}
	})
	return func() {
		close(over)
		watching.Wait()
	}
}

func resting(state string) bool {
	switch agent.TurnState(state) {
	case agent.TurnRunning, agent.TurnStopping:
		return false
	}
	return true
}
