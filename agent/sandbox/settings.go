package sandbox

import (
	"log/slog"
	"runtime"
	"time"

	"ash/agent"
)

// The engines one can ask for.
const (
	EngineAuto       = "auto" // Docker, else bubblewrap
	EngineDocker     = "docker"
	EngineBubblewrap = "bubblewrap"
	EngineOff        = "off"
)

// maxOutput is how much a command may print before it is stopped, in bytes. It also bounds Result.Overflow.
const maxOutput = 64 << 20

// Options are what a Sandbox is made of.
type Options struct {
	Home     string          // the home of Ash, absolute: names what belongs to it
	Files    string          // Ash's own files folder ["": <home>/workspace/files]
	Settings func() Settings // asked anew for each command
	Gateway  Gateway         // nil: commands never get a network
	Log      *slog.Logger    // nil: nothing is logged
	Self     string          // path of the ash binary, static, for the relay; "" when there is none: no network
}

// Settings are the bounds of every command. Zero values mean the default in brackets.
type Settings struct {
	Engine     string        // auto, docker, bubblewrap or off [auto]
	DockerHost string        // unix:// or npipe:// address ["": $DOCKER_HOST, else the usual sockets]
	Runtime    string        // OCI runtime of Docker, such as runsc ["": the engine's own]
	Memory     int64         // bytes, without any swap [1 GiB]
	CPUs       float64       // cores [2, or as many as there are]
	PIDs       int           // processes and threads [256]
	Disk       int64         // bytes of /tmp and of /home each; they count as memory too [256 MiB]
	Output     int64         // bytes of output handed on [128 KiB]; the whole is in Result.Overflow
	Timeout    time.Duration // of one command [2 min]
	Idle       time.Duration // until an unused container is removed [10 min]
	MinFree    int64         // bytes that must stay free on the disk of Root [1 GB]
}

// withDefaults fills in what is not set.
func (s Settings) withDefaults() Settings {
	if s.Engine == "" {
		s.Engine = EngineAuto
	}
	if s.Memory <= 0 {
		s.Memory = 1 << 30
	}
	if s.CPUs <= 0 {
		s.CPUs = min(2, float64(runtime.NumCPU()))
	}
	if s.PIDs <= 0 {
		s.PIDs = 256
	}
	if s.Disk <= 0 {
		s.Disk = 256 << 20
	}
	if s.Output <= 0 {
		s.Output = 128 << 10
	}
	s.Output = min(s.Output, maxOutput)
	if s.Timeout <= 0 {
		s.Timeout = 2 * time.Minute
	}
	if s.Idle <= 0 {
		s.Idle = 10 * time.Minute
	}
	if s.MinFree <= 0 {
		s.MinFree = 1e9
	}
	return s
}

// Command is one command line to run.
type Command struct {
	Thread   agent.ID      // whose container it runs in
	Root     string        // folder of the host, absolute, mounted at /work
	ReadOnly bool          // Root cannot be changed
	Dir      string        // working directory relative to Root; "" is Root
	Line     string        // given to a shell
	Env      []string      // NAME=value, added to a small environment of our own
	Hosts    []string      // network wanted: none when empty; "*" is any public host
	Timeout  time.Duration // 0 is Settings.Timeout
	Stdin    []byte        // nil: empty
}

// Result is how a command ended.
type Result struct {
	Exit        int           // 128 + signal when a signal ended it, as shells count
	TimedOut    bool          // stopped because its time was up
	OutOfMemory bool          // the kernel ended a process of it because the memory was used up
	Endless     bool          // stopped because it printed more than 64 MiB
	Truncated   bool          // not all output was handed on
	Dir         string        // working directory afterwards, relative to Root
	Duration    time.Duration // of the command itself, without making the sandbox
	Overflow    string        // file with the output, at most 64 MiB, when it was more than Settings.Output; the caller removes it
	Hosts       []string      // hosts really reached through the gateway
	Engine      string        // docker or bubblewrap
}
