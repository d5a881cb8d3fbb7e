package config

import (
	"time"

	"ash/agent"
)

// Config is every setting, resolved: paths are absolute, defaults filled in.
// Values reachable from it are shared between readers and must not be changed.
//
// The tags declare the keys of config.toml:
//
//	key      name in the file
//	default  value while nothing sets it, in text form (lists: comma-separated)
//	unset    what holds without a value, for keys that have no default
//	sample   value the annotated example shows, for keys that have no default
//	one_of   the allowed words
//	form     shape of a text: address, url, env, path, ref
//	min, max bounds, both inclusive
//	restart  "yes" when a change takes effect at the next start only
//	doc      what it means; for people
type Config struct {
	Server     Server              `key:"server" doc:"Where the pages are served."`
	Doors      Doors               `key:"doors" doc:"Who may come in from elsewhere than this machine. Nobody may without a passphrase or a paired device."`
	Workspace  Workspace           `key:"workspace" doc:"Where Ash keeps its identity and the files it works on."`
	Models     Models              `key:"models" doc:"Which language models answer, and how."`
	History    History             `key:"history" doc:"How much of a conversation is sent to the model."`
	Turn       Turn                `key:"turn" doc:"Bounds of one turn: all the work that one message sets off. The turn ends when it reaches any of them."`
	Spend      Spend               `key:"spend" doc:"What models may cost, in dollars. A cap is checked before each call, with the most the call may cost. 0 sets none. Each can also be raised once, where it is reached."`
	Tools      Tools               `key:"tools" doc:"What the assistant may do, and how much of it at once. Which tools may run unasked is set on the Tools page."`
	Files      Files               `key:"files" doc:"Folders the file tools may see besides workspace/files."`
	Search     Search              `key:"search" doc:"Where the web is searched."`
	Sandbox    Sandbox             `key:"sandbox" doc:"Where commands run, and within which limits. Without a sandbox that can hold the limits, commands are off: never on the machine itself."`
	Memory     Memory              `key:"memory" doc:"What Ash remembers, and how it recalls."`
	Appearance Appearance          `key:"appearance" doc:"How the pages look."`
	Vault      Vault               `key:"vault" doc:"Where keys and passwords lie, encrypted, and when it locks."`
	Log        Log                 `key:"log" doc:"What the server writes to standard error. Secrets never, message text at level debug only."`
	Providers  map[string]Provider `key:"providers" doc:"A model provider, one section each. NAME (a-z, 0-9 and -) is yours to choose and is the first half of a model's name: NAME/model. A provider Ash knows by name needs a section only for what differs."`
	Catalog    []CatalogEntry      `key:"catalog" doc:"Facts about a model that the built-in catalog lacks or has wrong, one section each. What an entry leaves out stays as the built-in catalog has it."`
}

// Server is the [server] section.
type Server struct {
	Listen string `key:"listen" default:"127.0.0.1:8080" form:"address" restart:"yes" doc:"Address and port of the pages. Port 0 takes any free one."`
}

// Doors is the [doors] section.
type Doors struct {
	// LAN is LANOff, LANOn, or an address with or without a port.
	LAN string `key:"lan" default:"off" form:"lan" doc:"Whether phones and computers on your network reach Ash. on takes every private address of this machine; one address, such as 192.168.1.5 or 192.168.1.5:8080, takes that alone. It stays closed until a passphrase is set or a device is paired."`
	// Names are in lower case, without port.
	HTTPS bool `key:"https" default:"false" doc:"Encrypt what devices of your network and Ash say to each other, by a certificate that Ash makes itself. Each device has to be told once to trust it: /trust shows how."`
	// Certificate and CertificateKey are absolute, or "".
	Certificate    string   `key:"certificate" unset:"the one that Ash makes itself" sample:"tls/box.tail1234.ts.net.crt" form:"path" doc:"With https: a certificate of your own, such as tailscale cert writes, for the names that are in it. PEM, the ones it rests on after it. It is read anew when it changes. A relative path stands in the home of Ash."`
	CertificateKey string   `key:"certificate_key" unset:"in the file of the certificate" sample:"tls/box.tail1234.ts.net.key" form:"path" doc:"The key of that certificate, without a passphrase. Only you may be able to read it (mode 0600)."`
	Names          []string `key:"names" unset:"the name of this machine" sample:"ash.home, ash.example.org" form:"host" doc:"Further names this machine is reached by, such as the one a reverse proxy serves. Requests to any other name are refused."`
	LocalSignIn    bool     `key:"local_sign_in" default:"false" doc:"Ask for sign-in in a browser on this machine, too. Needed behind a reverse proxy that adds no header of its own."`
	SessionDays    int      `key:"session_days" default:"90" min:"1" max:"3650" doc:"Days after which a device that was not used has to sign in again."`
	Tailscale      bool     `key:"tailscale" default:"false" doc:"Believe tailscale serve, when it runs on this machine, who of your tailnet is there. Only the logins below are let in by it."`
	// TailscaleLogins count only with Tailscale.
	TailscaleLogins []string `key:"tailscale_logins" unset:"nobody" sample:"me@example.com" doc:"Logins of your tailnet that come in without a passphrase."`
}

// What doors.lan may say besides an address.
const (
	LANOff = "off"
	LANOn  = "on"
)

// Workspace is the [workspace] section.
type Workspace struct {
	// Path is absolute.
	Path string `key:"path" default:"workspace" form:"path" restart:"yes" doc:"Folder of SOUL.md, USER.md, TOOLS.md and files/. A relative path stands in the home of Ash; ~ is your home folder."`
}

// Models is the [models] section.
type Models struct {
	// Order is empty when no model is set up: the offline model answers.
	Order       []agent.ModelRef `key:"order" unset:"the offline model, which needs no network" sample:"anthropic/claude-sonnet-4-5, ollama/qwen3:8b" form:"ref" doc:"The models to use: the first is the default, the others stand in, in this order, when it fails."`
	Temperature *float64         `key:"temperature" unset:"the provider's own default" sample:"0.7" min:"0" max:"2" doc:"How freely the model chooses its words: 0 is the most predictable."`
	// MaxTokens is 0 for the model's own limit.
	MaxTokens  int            `key:"max_tokens" default:"0" min:"0" max:"10000000" doc:"Longest answer, in tokens. 0 is the model's own limit."`
	Retries    int            `key:"retries" default:"2" min:"0" max:"9" doc:"How often a failed request is tried again before the next model is. Never once an answer has begun."`
	TitleModel agent.ModelRef `key:"title_model" unset:"the model that answered" sample:"ollama/qwen3:8b" form:"ref" doc:"Model that names new conversations; a small one will do."`
}

// Provider is a [providers.NAME] section.
type Provider struct {
	// Kind is "" when the name decides.
	Kind      string `key:"kind" unset:"the name of the section, if it is one of these, else openai" sample:"openai" one_of:"anthropic openai gemini mistral groq cerebras deepseek xai openrouter cohere bedrock bedrock-claude bedrock-aws ollama lmstudio llamacpp vllm offline" doc:"Who is spoken to. Most others speak the protocol of openai."`
	BaseURL   string `key:"base_url" unset:"the provider's own address" sample:"http://127.0.0.1:1234/v1" form:"url" doc:"Where the provider is reached."`
	KeySecret string `key:"key_secret" unset:"not in the vault" sample:"provider/openai" form:"secret" doc:"Name of the secret of the vault that holds the key; it goes before file and variable. While the vault is locked, the provider is not asked."`
	KeyEnv    string `key:"key_env" unset:"the provider's usual variable" sample:"OPENAI_API_KEY" form:"env" doc:"Environment variable that holds the key. The key itself never stands in this file."`
	// KeyFile is absolute, or "".
	KeyFile        string        `key:"key_file" unset:"no file" sample:"keys/openai" form:"path" doc:"File that holds the key and nothing else; it goes before the variable. Only you may be able to read it (mode 0600). A relative path stands in the home of Ash."`
	ConnectTimeout time.Duration `key:"connect_timeout" default:"10s" min:"100ms" max:"5m" doc:"How long to wait for a connection."`
	// FirstTokenTimeout is 0 for a limit that fits where the provider runs.
	FirstTokenTimeout time.Duration `key:"first_token_timeout" default:"0s" min:"0s" max:"1h" doc:"How long to wait for the first word of an answer. 0s is two minutes, and longer for a model on this machine, which may have to be loaded first."`
	StallTimeout      time.Duration `key:"stall_timeout" default:"1m" min:"1s" max:"1h" doc:"How long an answer may pause before it counts as cut off."`
	// KeepAlive is 0 to leave it to the server, negative for ever.
	KeepAlive time.Duration `key:"keep_alive" default:"0s" min:"-1s" max:"720h" doc:"How long Ollama keeps a model loaded after an answer. 0s leaves it to Ollama, -1s is for ever. Other kinds take no notice."`
	Thinking  string        `key:"thinking" unset:"the provider's own default" sample:"medium" one_of:"off low medium high" doc:"How hard models that can think should think before they answer."`
}

// CatalogEntry is a [[catalog]] section. Nil and empty fields say nothing.
type CatalogEntry struct {
	Ref             agent.ModelRef      `key:"ref" sample:"lmstudio/qwen3-30b" form:"ref" doc:"The model."`
	Title           string              `key:"title" unset:"as the built-in catalog has it" sample:"Qwen3 30B" doc:"Name for people."`
	ContextWindow   *int                `key:"context_window" unset:"as the built-in catalog has it" sample:"131072" min:"0" max:"100000000" doc:"Tokens the model can take in, its answer included."`
	MaxOutput       *int                `key:"max_output" unset:"as the built-in catalog has it" sample:"16384" min:"0" max:"100000000" doc:"Longest answer the model can give, in tokens."`
	Abilities       []string            `key:"abilities" unset:"as the built-in catalog has it" sample:"tools, vision" one_of:"tools vision documents thinking" doc:"What the model can do: call tools, see images, read PDF files itself, think before it answers."`
	Local           *bool               `key:"local" unset:"as the built-in catalog has it" sample:"true" doc:"Runs on this machine and costs nothing."`
	InputPrice      *agent.MicroDollars `key:"input_price" unset:"as the built-in catalog has it" sample:"3.00" min:"0" max:"100000" doc:"Dollars per million tokens sent."`
	OutputPrice     *agent.MicroDollars `key:"output_price" unset:"as the built-in catalog has it" sample:"15.00" min:"0" max:"100000" doc:"Dollars per million tokens received."`
	CacheReadPrice  *agent.MicroDollars `key:"cache_read_price" unset:"as the built-in catalog has it" sample:"0.30" min:"0" max:"100000" doc:"Dollars per million tokens read from the provider's cache."`
	CacheWritePrice *agent.MicroDollars `key:"cache_write_price" unset:"as the built-in catalog has it" sample:"3.75" min:"0" max:"100000" doc:"Dollars per million tokens written to the provider's cache."`
}

// History is the [history] section.
type History struct {
	MaxContextMessages int  `key:"max_context_messages" default:"500" min:"2" max:"10000" doc:"At most this many of the newest messages are sent."`
	Summarise          bool `key:"summarise" default:"true" doc:"Summarise what no longer fits. Summaries are shown, can be taken back, and the messages stay."`
}

// Turn is the [turn] section.
type Turn struct {
	Rounds   int                `key:"rounds" default:"50" min:"1" max:"10000" doc:"How often the model may be asked."`
	WallTime time.Duration      `key:"wall_time" default:"30m" min:"1s" max:"24h" doc:"How long it may take."`
	Tokens   int                `key:"tokens" default:"2000000" min:"0" max:"1000000000" doc:"Tokens sent and received, all rounds together. 0 sets no bound."`
	Cost     agent.MicroDollars `key:"cost" default:"5.00" min:"0" max:"100000" doc:"What it may cost, in dollars. 0 sets no bound."`
}

// Spend is the [spend] section.
type Spend struct {
	Daily      agent.MicroDollars `key:"daily" default:"10.00" min:"0" max:"100000" doc:"What all calls together may cost in a day. Days begin at midnight, in the time zone of the machine Ash runs on."`
	Monthly    agent.MicroDollars `key:"monthly" default:"100.00" min:"0" max:"1000000" doc:"What all calls together may cost in a calendar month."`
	Thread     agent.MicroDollars `key:"thread" default:"0" min:"0" max:"100000" doc:"What one conversation may cost in all, its helpers included."`
	Background agent.MicroDollars `key:"background" default:"1.00" min:"0" max:"100000" doc:"What may be spent in a day on what nobody waits for: learning, titles, summaries, tidying, finding by meaning. Of the daily cap, not on top of it."`
	// What is assumed of a model whose price is not known.
	UnknownInput  agent.MicroDollars `key:"unknown_input" default:"3.00" min:"0.01" max:"100000" doc:"What a model counts as whose price is not known, in dollars per million tokens sent. A catalog entry says a model's own price."`
	UnknownOutput agent.MicroDollars `key:"unknown_output" default:"15.00" min:"0.01" max:"100000" doc:"The same per million tokens received."`
}

// Tools is the [tools] section.
type Tools struct {
	// ApprovalExpiry is 0 for never.
	ApprovalExpiry time.Duration `key:"approval_expiry" default:"0s" min:"0s" max:"8760h" doc:"After this long without an answer an approval counts as denied. 0s never."`
	Parallel       int           `key:"parallel" default:"4" min:"1" max:"32" doc:"Calls of one kind of tool (files, commands, web, helpers) that run at once."`
}

// Files is the [files] section.
type Files struct {
	// Folders are absolute paths, read-only unless ":rw" ends them.
	Folders []string `key:"folders" unset:"none" sample:"~/Documents, ~/projects/site:rw" doc:"Further folders. Read-only, unless :rw follows the path."`
	Own     []string `key:"own" unset:"none" sample:"~/Documents" doc:"Folders whose files are your own words. What stands in any other file may be a stranger's, until you or Ash wrote it."`
}

// Search is the [search] section.
type Search struct {
	Backend   string `key:"backend" default:"auto" one_of:"auto brave searxng duckduckgo" doc:"auto takes Brave when there is a key, else SearXNG when it has an address, else DuckDuckGo."`
	SearXNG   string `key:"searxng_url" unset:"no server" sample:"http://127.0.0.1:8888" form:"url" doc:"Your SearXNG server. It must allow the format json."`
	KeySecret string `key:"brave_key_secret" unset:"not in the vault" sample:"tool/brave" form:"secret" doc:"Name of the secret of the vault that holds the key of the Brave Search API; it goes before the variable."`
	KeyEnv    string `key:"brave_key_env" default:"BRAVE_API_KEY" form:"env" doc:"Environment variable that holds the key of the Brave Search API."`
}

// Sandbox is the [sandbox] section.
type Sandbox struct {
	Engine     string        `key:"engine" default:"auto" one_of:"auto docker bubblewrap off" doc:"auto takes Docker (or Podman), else bubblewrap on Linux."`
	DockerHost string        `key:"docker_host" unset:"the engine's usual socket, or DOCKER_HOST" sample:"unix:///run/user/1000/podman/podman.sock" doc:"Where the engine listens."`
	Runtime    string        `key:"runtime" unset:"the engine's default" sample:"runsc" doc:"OCI runtime of the containers, such as runsc of gVisor."`
	Memory     int           `key:"memory_mb" default:"1024" min:"32" max:"1048576" doc:"Memory of one conversation's commands, in MB."`
	CPUs       float64       `key:"cpus" default:"2" min:"0.1" max:"256" doc:"Processors they may keep busy."`
	Processes  int           `key:"processes" default:"256" min:"8" max:"32768" doc:"Processes and threads they may have."`
	Disk       int           `key:"disk_mb" default:"512" min:"16" max:"1048576" doc:"Space for temporary files, in MB."`
	Output     int           `key:"output_mb" default:"8" min:"1" max:"1024" doc:"Output kept of one command, in MB."`
	Timeout    time.Duration `key:"timeout" default:"5m" min:"1s" max:"24h" doc:"How long one command may take."`
	Idle       time.Duration `key:"idle" default:"15m" min:"10s" max:"24h" doc:"How long a container stays warm without being used."`
	MinFree    int           `key:"min_free_mb" default:"1024" min:"0" max:"1048576" doc:"Commands stop when less than this is free on the disk, in MB."`
}

// Memory is the [memory] section.
type Memory struct {
	Learn        string             `key:"learn" default:"automatic" one_of:"automatic ask off" doc:"What happens to what you say of yourself once a conversation rests. automatic keeps facts in your own words and asks about the rest; ask proposes everything; off learns only when told to."`
	Rest         time.Duration      `key:"rest" default:"2m" min:"1s" max:"24h" doc:"How long nothing is said before a conversation counts as resting."`
	LearnModel   agent.ModelRef     `key:"learn_model" unset:"the conversation's own model" sample:"ollama/qwen3:4b" form:"ref" doc:"The model that learns; a small one will do."`
	LearnTokens  int                `key:"learn_tokens" default:"12000" min:"4000" max:"200000" doc:"The most tokens of one call that learns, its answer included."`
	LearnDaily   agent.MicroDollars `key:"learn_daily" default:"0.50" min:"0" max:"1000" doc:"What learning and tidying may cost a day (UTC), in dollars. 0 sets no bound."`
	LearnCalls   int                `key:"learn_calls" default:"300" min:"0" max:"100000" doc:"How often learning and tidying may ask a model a day (UTC). 0 sets no bound."`
	Tidy         time.Duration      `key:"tidy" default:"24h" min:"1s" max:"8760h" doc:"How often memory is tidied: what is said twice is merged, what has expired is retired, patterns are offered. Every run is listed and can be undone."`
	RecallTokens int                `key:"recall_tokens" default:"1000" min:"0" max:"20000" doc:"How much of what is recalled may stand in a prompt, in tokens. 0 recalls nothing by itself."`
	Embedder     agent.ModelRef     `key:"embedder" unset:"recall by words alone" sample:"ollama/nomic-embed-text" form:"ref" doc:"An embedding model of one of the providers: things are then found by meaning, too. What is remembered is sent to it."`
	StaticModel  string             `key:"static_model" unset:"none" sample:"/home/me/models/potion-base-8M" form:"path" doc:"Folder of a static embedding model (Model2Vec: tokenizer.json, model.safetensors), which needs no server. It goes before embedder."`
	Notes        string             `key:"notes" default:"notes" form:"path" restart:"yes" doc:"Folder of your notes, Markdown. A relative path stands in the home of Ash."`
	Undo         time.Duration      `key:"undo" default:"1h" min:"1s" max:"720h" doc:"How long forgetting can be taken back before it is final."`
}

// Appearance is the [appearance] section.
type Appearance struct {
	Theme string `key:"theme" default:"system" one_of:"system light dark" doc:"Colours of the pages; system follows the device."`
}

// Vault is the [vault] section.
type Vault struct {
	// Idle is 0 for never.
	Idle time.Duration `key:"idle" default:"12h" min:"0s" max:"8760h" doc:"After this long without a use the vault locks itself. 0s never."`
	// PassphraseFile is absolute, or "".
	PassphraseFile string `key:"passphrase_file" unset:"none" sample:"/run/user/1000/ash-vault" form:"path" doc:"File whose first line is the passphrase: Ash unlocks the vault with it when it starts. Only you may be able to read it (mode 0600), and it should not lie on the disk the vault lies on. A relative path stands in the home of Ash."`
	Keyring        bool   `key:"keyring" default:"false" doc:"Ash unlocks the vault when it starts, with the passphrase that the keyring of your desktop keeps. To switch it on, run: ash vault keyring on."`
}

// Log is the [log] section.
type Log struct {
	Level  string `key:"level" default:"info" one_of:"debug info warn error" restart:"yes" doc:"The least important entries to write."`
	Format string `key:"format" default:"text" one_of:"text json" restart:"yes" doc:"How an entry is written."`
}

// Bounds returns the section as the turn loop takes it.
func (t Turn) Bounds() agent.Bounds {
	return agent.Bounds{Rounds: t.Rounds, Wall: t.WallTime, Tokens: t.Tokens, Cost: t.Cost}
}

// Provider returns the settings of the provider called name; the defaults when
// no layer mentions it.
func (c Config) Provider(name string) Provider {
	if p, ok := c.Providers[name]; ok {
		return p
	}
	return newSchema().defaultProvider()
}

// Apply returns known with everything the entry says put in its place.
func (e CatalogEntry) Apply(known agent.ModelInfo) agent.ModelInfo {
	known.Ref = e.Ref
	if e.Title != "" {
		known.Title = e.Title
	}
	replace(&known.ContextWindow, e.ContextWindow)
	replace(&known.MaxOutput, e.MaxOutput)
	replace(&known.Local, e.Local)
	replace(&known.Price.Input, e.InputPrice)
	replace(&known.Price.Output, e.OutputPrice)
	replace(&known.Price.CacheRead, e.CacheReadPrice)
	replace(&known.Price.CacheWrite, e.CacheWritePrice)
	if e.Abilities == nil {
		return known
	}
	known.Tools, known.Vision, known.Documents, known.Thinking = false, false, false, false
	for _, a := range e.Abilities {
		switch a {
		case "tools":
			known.Tools = true
		case "vision":
			known.Vision = true
		case "documents":
			known.Documents = true
		case "thinking":
			known.Thinking = true
		}
	}
	return known
}

func replace[T any](dst *T, with *T) {
	if with != nil {
		*dst = *with
	}
}
