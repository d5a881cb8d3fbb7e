// Package sandbox runs commands where they can do no harm: in Docker (or Podman, over the same interface; podman.go has what differs), or in
// bubblewrap on Linux where there is no Docker. There is no third way; without either,
// commands are off.
//
// Invariants (threats.md 8):
//
//   - A command sees its Root at /work, a read-only system, and its own /tmp and /home in memory. Nothing else of
//     the machine: no other folder, no socket, no network.
//   - Network is given to one command at a time, in a sandbox of its own, for named hosts. Its only way out is a unix socket
//     on which a Gateway listens; Relay carries connections there from the loopback address inside.
//   - It is never root on the host, has no capabilities and cannot gain any.
//   - Memory, CPU, processes, output, time and disk are bounded by the kernel or by this package. An engine
//     that cannot enforce the limits counts as none.
//   - Whatever a command started ends with the turn (EndJobs), and all of it within a second when it is stopped, also what
//     left its process group or session: it is killed by its pid namespace, never by a list of ids.
//   - Containers die with the process that made them, even when that is killed: their first process ends when its standard input
//     does. What still is left over is found by its labels.
//
// A thread has one warm container in Docker, used by one command after the other. A
// command is a script of ours (line.sh) around the person's line: it tells through marks
// in the output where the line began and ended, its exit code and its working directory. The marks carry a random word.
//
// On disk: <home>/sandbox/run-*/ (or ash-sandbox-*/run-* in the folder for temporary files where that path is too long for a socket)
// holds sockets and the whole output of talkative commands; <home>/sandbox/podman-seccomp.json is the filter that Podman reads.
package sandbox
