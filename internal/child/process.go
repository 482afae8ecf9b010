package child

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"math"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

//go:embed supervise.sh
var superviseScript string

// outputDelay is how long Wait reads on for output after the program has ended:
// a grandchild may hold the pipe open.
const outputDelay = time.Second

// Process is a running or ended program. Its methods may be called from any
// goroutine, any number of times.
type Process struct {
	name     string
	cmd      *exec.Cmd
	lifeline io.Closer
	stop     syscall.Signal
	grace    time.Duration
	output   *tail
	done     chan struct{}
	err      error
}

// Start starts a program.
func Start(o Options) (*Process, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	path, err := exec.LookPath(o.Path)
	if err != nil {
		return nil, fmt.Errorf("child: %w", err)
	}
	p := &Process{name: o.Path, stop: signals[o.StopSignal], grace: o.Grace, output: new(tail), done: make(chan struct{})}

	args := []string{"-c", superviseScript, "supervise", o.StopSignal, strconv.Itoa(int(math.Ceil(o.Grace.Seconds()))), o.OrphanDir}
	if len(o.Env) > 0 {
		args = append(append(args, "env"), o.Env...)
	}
	p.cmd = exec.Command("/bin/sh", append(append(args, path), o.Args...)...)
	p.cmd.Dir = o.Dir
	p.cmd.WaitDelay = outputDelay
	p.cmd.Stdout, p.cmd.Stderr = p.outputs(o)
	if p.cmd.SysProcAttr, err = sysProcAttr(o.User); err != nil {
		return nil, err
	}
	if p.lifeline, err = p.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("child: %s: %w", p.name, err)
	}

	started := make(chan error)
	go p.run(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("child: start %s: %w", p.name, err)
	}
	return p, nil
}

// run starts the program and waits for its end on one and the same thread: to
// the kernel, the parent whose death it signals is the thread that forked.
func (p *Process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	p.err = p.cmd.Wait()
	killGroup(p.cmd.Process.Pid)
	close(p.done)
}

// outputs returns the writers for standard output and error. One writer for both
// must stay one value, or exec would write to it from two goroutines at once.
func (p *Process) outputs(o Options) (stdout, stderr io.Writer) {
	tee := func(w io.Writer) io.Writer {
		if w == nil {
			return p.output
		}
		return io.MultiWriter(w, p.output)
	}
	stdout = tee(o.Stdout)
	if o.Stdout == o.Stderr {
		return stdout, stdout
	}
	return stdout, tee(o.Stderr)
}

// Done is closed when the program has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err returns nil while the program runs and after it ended with status 0, and
// otherwise what it ended with.
func (p *Process) Err() error {
	select {
	case <-p.done:
		return p.err
	default:
		return nil
	}
}

// Output returns the last few kilobytes of what the program wrote.
func (p *Process) Output() string { return p.output.String() }

// Wait returns when the program has ended, with an error that quotes the end of
// its output unless the status was 0. If the context ends first, the program is
// stopped, and the context's error returned.
func (p *Process) Wait(ctx context.Context) error {
	select {
	case <-p.done:
	case <-ctx.Done():
		p.Stop()
		return fmt.Errorf("child: %s was stopped: %w", p.name, context.Cause(ctx))
	}
	if p.err != nil {
		return fmt.Errorf("child: %s ended with %w; its last output:\n%s", p.name, p.err, p.Output())
	}
	return nil
}

// Stop asks the program to end, kills it when the grace is over, and returns
// when it is gone.
func (p *Process) Stop() {
	p.Signal(p.stop)
	select {
	case <-p.done:
	case <-time.After(p.grace):
		p.Kill()
	}
	_ = p.lifeline.Close()
}

// Kill ends the program and its process group by SIGKILL and returns when it is gone.
func (p *Process) Kill() {
	select {
	case <-p.done:
	default:
		killGroup(p.cmd.Process.Pid)
		<-p.done
	}
}

// Signal sends SIGTERM, SIGINT or SIGQUIT to the program alone, not to its
// children. A program that has ended is left in peace.
func (p *Process) Signal(s syscall.Signal) {
	_ = p.cmd.Process.Signal(s)
}

var signals = map[string]syscall.Signal{
	"TERM": syscall.SIGTERM,
	"INT":  syscall.SIGINT,
	"QUIT": syscall.SIGQUIT,
}
