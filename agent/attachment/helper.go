package attachment

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Bounds on the helper process.
const (
	helperStack  = 64 << 20  // bytes of one goroutine's stack
	helperMemory = 512 << 20 // bytes of memory
	helperGrace  = 3 * time.Second
	maxAnswer    = 8 << 20 // bytes of JSON
)

// Subprocess reads PDFs in a process of its own, which gets the file as its standard
// input and nothing else: no environment, no home. It is killed when its time is up. Path and Args
// start a program that calls Helper, usually the running binary itself.
type Subprocess struct {
	Path string
	Args []string
	Env  []string      // nil is an empty environment
	Time time.Duration // most time for one file; 0 is 10 s and a little to start
}

// ReadPDF implements PDFReader.
func (s Subprocess) ReadPDF(ctx context.Context, f *os.File, _ int64) (PDFText, error) {
	limit := s.Time
	if limit <= 0 {
		limit = pdfTime + helperGrace
	}
	timed, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return PDFText{}, err
	}
	answer := &limited{left: maxAnswer, stop: cancel}
	cmd := exec.CommandContext(timed, s.Path, s.Args...)
	cmd.Env = append([]string{}, s.Env...)
	cmd.Stdin, cmd.Stdout = f, answer
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		if errors.Is(timed.Err(), context.DeadlineExceeded) && ctx.Err() == nil {
			return PDFText{Failed: pdfTooLong}, nil
		}
		return PDFText{}, fmt.Errorf("pdf helper: %w", err)
	}
	var t PDFText
	if err := json.Unmarshal(answer.kept.Bytes(), &t); err != nil {
		return PDFText{}, fmt.Errorf("pdf helper: %w", err)
	}
	return t, nil
}

// limited keeps what is written to it up to a bound; beyond, it fails and stops the writer. The buffer is
// not embedded: io.Copy would find its ReadFrom and go past the bound.
type limited struct {
	kept bytes.Buffer
	left int
	stop func()
}

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		l.stop()
		return 0, errors.New("the helper answers too much")
	}
	return l.kept.Write(p)
}

// Helper is the main function of the helper process: it reads the PDF on in, which must be a regular file, writes
// a PDFText as JSON to out, and returns the exit status. It sets limits for the whole process, and ends it at once
// when the parser takes too much memory.
func Helper(in *os.File, out io.Writer) int {
	debug.SetMaxStack(helperStack)
	debug.SetMemoryLimit(helperMemory / 2)
	go watchMemory()
	info, err := in.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return 2
	}
	t, err := InProcess{}.ReadPDF(context.Background(), in, info.Size())
	if err == nil {
		err = json.NewEncoder(out).Encode(t)
	}
	if err != nil {
		return 1
	}
	return 0
}

// watchMemory ends the process when it has grown too large. It runs as long as the process.
func watchMemory() {
	total := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	for {
		metrics.Read(total)
		if total[0].Value.Uint64()+total[1].Value.Uint64() > helperMemory {
			os.Exit(3)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
