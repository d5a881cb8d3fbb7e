package service

import (
	"encoding/xml"
	"path/filepath"
	"strings"

	"ash/agent"
)

// Options say what is to be started.
type Options struct {
	Program string // absolute path of ash
	Home    string // absolute path of the home of Ash
	Log     string // absolute path of a file that launchd writes what Ash says to; systemd has its journal
}

// Names of the service.
const (
	UnitName  = "ash.service" // of systemd
	AgentName = "ash.serve"   // of launchd; its file ends in .plist
)

// UnitPath is where the unit lies, below the folder of the person's settings ($XDG_CONFIG_HOME, ~/.config).
func UnitPath(configDir string) string {
	return filepath.Join(configDir, "systemd", "user", UnitName)
}

// AgentPath is where the launchd agent lies, below the person's home folder.
func AgentPath(personHome string) string {
	return filepath.Join(personHome, "Library", "LaunchAgents", AgentName+".plist")
}

// check refuses what no such file can hold. CodeInvalid.
func (o Options) check() error {
	for what, path := range map[string]string{"program": o.Program, "home": o.Home} {
		switch {
		case !filepath.IsAbs(path):
			return agent.Errorf(agent.CodeInvalid, "The path of the %s must begin at the top: %q does not.", what, path)
		case strings.ContainsAny(path, "\x00\n\r"):
			return agent.Errorf(agent.CodeInvalid, "The path of the %s has a line end in it, which a service file cannot hold. Move it.", what)
		}
	}
	return nil
}

// Unit returns the systemd user unit. Errors: CodeInvalid for paths it cannot hold.
//
// Of what systemd can take away (systemd.exec(5)), it keeps what a user's service manager may grant and Ash can do without. ProtectHome and
// ProtectSystem=strict are left out: the home, the folders of the person and the sockets of Docker and Podman lie there. PrivateTmp
// is left out because the sandbox's files must be where Docker finds them. RestrictNamespaces is left out for bubblewrap, which needs them.
func Unit(o Options) (string, error) {
	if err := o.check(); err != nil {
		return "", err
	}
	if strings.ContainsAny(o.Program, oddSigns) && strings.Contains(o.Program, "=") { // env would take it for a variable
		return "", agent.Errorf(agent.CodeInvalid, "The path of the program %q has signs that systemd cannot hold together. Move it.", o.Program)
	}
	return `# Written by "ash service install"; "ash service remove" takes it away.
[Unit]
Description=Ash, a private assistant
StartLimitIntervalSec=300
StartLimitBurst=5

[Service]
Type=exec
ExecStart=` + start(o.Program) + ` serve --home ` + unitWord(o.Home) + `
Restart=on-failure
RestartSec=5
TimeoutStopSec=20
UMask=0077

NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
LimitCORE=0

[Install]
WantedBy=default.target
`, nil
}

// oddSigns are those that the first word of ExecStart cannot hold.
const oddSigns = "\"'\\\t$"

// start is the beginning of the command line. systemd takes no quote and no backslash in the path of a program, and reads a $ in
// it as it stands: such a program is started by another.
func start(program string) string {
	if strings.ContainsAny(program, oddSigns) {
		return "/usr/bin/env -- " + unitWord(program)
	}
	return unitWord(program)
}

// unitWord makes a text one word of ExecStart (systemd.service(5), "Command lines"): in double quotes with C escapes, where % begins a specifier
// and $ a variable.
func unitWord(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch r {
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '%':
			b.WriteString("%%")
		case '$':
			b.WriteString("$$")
		case '\t':
			b.WriteString(`\t`)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Plist returns the launchd agent (launchd.plist(5)). Errors: CodeInvalid for paths it cannot hold.
func Plist(o Options) (string, error) {
	if err := o.check(); err != nil {
		return "", err
	}
	word := func(s string) string { return "<string>" + xmlText(s) + "</string>" }
	return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- Written by "ash service install"; "ash service remove" takes it away. -->
<plist version="1.0">
<dict>
	<key>Label</key>
	` + word(AgentName) + `
	<key>ProgramArguments</key>
	<array>
		` + word(o.Program) + `
		<string>serve</string>
		<string>--home</string>
		` + word(o.Home) + `
	</array>
	<key>RunAtLoad</key>
	<true/>
	<key>KeepAlive</key>
	<dict>
		<key>SuccessfulExit</key>
		<false/>
	</dict>
	<key>ThrottleInterval</key>
	<integer>10</integer>
	<key>Umask</key>
	<integer>63</integer>
	<key>ProcessType</key>
	<string>Interactive</string>
	<key>StandardErrorPath</key>
	` + word(o.Log) + `
	<key>StandardOutPath</key>
	` + word(o.Log) + `
</dict>
</plist>
`, nil
}

func xmlText(s string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(s)); err != nil {
		return "" // a Builder takes everything
	}
	return b.String()
}
