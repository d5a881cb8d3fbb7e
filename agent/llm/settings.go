package llm

import (
	"context"
	"iter"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"ash/agent"
)

// Settings describe one provider as the person configured it.
type Settings struct {
	Name      string            // as in "name/model"; no slash, at most 64 bytes
	Kind      string            // a vendor (see VendorOf) or a dialect's name
	BaseURL   string            // "" is the vendor's own address
	KeySecret string            // secret of the vault that holds the key; it goes before the file
	KeyFile   string            // file that holds the key; must be 0600 and the person's own
	KeyEnv    string            // environment variable that holds the key; "" is the vendor's usual one
	Headers   map[string]string // sent with every request, for gateways that want them

	Connect    time.Duration // to open a connection; 0 is 10 s
	FirstToken time.Duration // from request to first delta; 0 is 2 min, 5 min for a server on this machine
	Stall      time.Duration // between two deltas; 0 is 60 s
	KeepAlive  time.Duration // how long a local server keeps the model loaded; 0 leaves it to the server
	Thinking   string        // how hard models that can should think: "off", "low", "medium", "high"; "" is the vendor's default

	// Amend puts what the person says about a model in the place of what is known of it; nil changes nothing.
	Amend func(name string, known agent.ModelInfo) agent.ModelInfo
}

// Defaults of the time limits in Settings.
const (
	DefaultConnect         = 10 * time.Second
	DefaultFirstToken      = 2 * time.Minute
	DefaultFirstTokenLocal = 5 * time.Minute // a local server may have to load the model first
	DefaultStall           = time.Minute
)

// Connection is what a dialect gets to build its client from: complete settings
// (BaseURL and time limits filled in), the way to the key, and an HTTP client
// that keeps the connect limit and follows no redirect to another host.
type Connection struct {
	Settings Settings
	// Key returns the provider's key, "" when it needs none. It is asked anew for each
	// request, so that a key pasted a moment ago counts, right before it is sent. The error is a *Fault (FaultNoKey, FaultLocked, FaultKept).
	Key    func(ctx context.Context) (string, error)
	HTTP   *http.Client
	Logger *slog.Logger
}

// Client speaks to one provider. It is used from many goroutines.
type Client interface {
	// Stream makes one request and yields what comes back; errors are *Fault. info is what the
	// catalog knows of the model, info.Ref.Name its name on the wire. The prompt has been through Adapt.
	Stream(ctx context.Context, info agent.ModelInfo, p agent.Prompt) iter.Seq2[agent.Delta, error]
	// Models asks the server which models it has. Only what the server said is filled in; Ref.Name always.
	Models(ctx context.Context) ([]agent.ModelInfo, error)
}

// Dialect makes the client of one provider. It must not touch the network. Errors:
// CodeInvalid for settings it cannot use.
type Dialect func(c Connection) (Client, error)

// Vendor is what is known of a provider before the person says anything.
type Vendor struct {
	Kind    string
	Title   string   // for people
	Dialect string   // the wire format it speaks
	BaseURL string   // its own address
	KeyEnv  []string // usual environment variables, first match wins
	NeedKey bool     // refuses calls without a key
	Local   bool     // usually on this machine
	KeyPage string   // where a person gets a key
}

// vendors lists the known providers. The addresses and variable names are those of each
// vendor's documentation.
//
// They are asked for several times in a turn, and never changed.
var vendors = sync.OnceValue(func() []Vendor {
	return []Vendor{
		{Kind: "anthropic", Title: "Anthropic", Dialect: "anthropic", BaseURL: "https://api.anthropic.com", KeyEnv: []string{"ANTHROPIC_API_KEY"}, NeedKey: true, KeyPage: "https://console.anthropic.com/settings/keys"},
		{Kind: "openai", Title: "OpenAI", Dialect: "openai", BaseURL: "https://api.openai.com/v1", KeyEnv: []string{"OPENAI_API_KEY"}, NeedKey: true, KeyPage: "https://platform.openai.com/api-keys"},
		{Kind: "gemini", Title: "Google Gemini", Dialect: "openai", BaseURL: "https://generativelanguage.googleapis.com/v1beta/openai", KeyEnv: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, NeedKey: true, KeyPage: "https://aistudio.google.com/apikey"},
		{Kind: "mistral", Title: "Mistral", Dialect: "openai", BaseURL: "https://api.mistral.ai/v1", KeyEnv: []string{"MISTRAL_API_KEY"}, NeedKey: true, KeyPage: "https://console.mistral.ai/api-keys"},
		{Kind: "groq", Title: "Groq", Dialect: "openai", BaseURL: "https://api.groq.com/openai/v1", KeyEnv: []string{"GROQ_API_KEY"}, NeedKey: true, KeyPage: "https://console.groq.com/keys"},
		{Kind: "cerebras", Title: "Cerebras", Dialect: "openai", BaseURL: "https://api.cerebras.ai/v1", KeyEnv: []string{"CEREBRAS_API_KEY"}, NeedKey: true, KeyPage: "https://cloud.cerebras.ai"},
		{Kind: "deepseek", Title: "DeepSeek", Dialect: "openai", BaseURL: "https://api.deepseek.com/v1", KeyEnv: []string{"DEEPSEEK_API_KEY"}, NeedKey: true, KeyPage: "https://platform.deepseek.com/api_keys"},
		{Kind: "xai", Title: "xAI", Dialect: "openai", BaseURL: "https://api.x.ai/v1", KeyEnv: []string{"XAI_API_KEY"}, NeedKey: true, KeyPage: "https://console.x.ai"},
		{Kind: "openrouter", Title: "OpenRouter", Dialect: "openai", BaseURL: "https://openrouter.ai/api/v1", KeyEnv: []string{"OPENROUTER_API_KEY"}, NeedKey: true, KeyPage: "https://openrouter.ai/keys"},
		{Kind: "cohere", Title: "Cohere", Dialect: "openai", BaseURL: "https://api.cohere.ai/compatibility/v1", KeyEnv: []string{"COHERE_API_KEY", "CO_API_KEY"}, NeedKey: true, KeyPage: "https://dashboard.cohere.com/api-keys"},
		{Kind: "bedrock", Title: "Amazon Bedrock", Dialect: "openai", BaseURL: "https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1", KeyEnv: []string{"AWS_BEARER_TOKEN_BEDROCK"}, NeedKey: true, KeyPage: "https://console.aws.amazon.com/bedrock/home#/api-keys"},
		{Kind: "bedrock-claude", Title: "Claude on Amazon Bedrock", Dialect: "anthropic", BaseURL: "https://bedrock-mantle.us-east-1.api.aws/anthropic", KeyEnv: []string{"AWS_BEARER_TOKEN_BEDROCK"}, NeedKey: true, KeyPage: "https://console.aws.amazon.com/bedrock/home#/api-keys"},
		{Kind: "bedrock-aws", Title: "Amazon Bedrock (AWS profile)", Dialect: "bedrock-aws"}, // the region's address; signs in as AWS's own tools do
		{Kind: "ollama", Title: "Ollama", Dialect: "ollama", BaseURL: "http://127.0.0.1:11434", KeyEnv: []string{"OLLAMA_API_KEY"}, Local: true},
		{Kind: "lmstudio", Title: "LM Studio", Dialect: "openai", BaseURL: "http://127.0.0.1:1234/v1", Local: true},
		{Kind: "llamacpp", Title: "llama.cpp", Dialect: "openai", BaseURL: "http://127.0.0.1:8080/v1", KeyEnv: []string{"LLAMA_API_KEY"}, Local: true},
		{Kind: "vllm", Title: "vLLM", Dialect: "openai", BaseURL: "http://127.0.0.1:8000/v1", KeyEnv: []string{"VLLM_API_KEY"}, Local: true},
		{Kind: "offline", Title: "Offline", Dialect: "offline", Local: true},
	}
})

// ownHosts are the hosts of the vendors that are not on this machine, in lower case, and whose each is: an index of vendors.
var ownHosts = sync.OnceValue(func() map[string]int {
	hosts := map[string]int{}
	for i, v := range vendors() {
		if own, err := url.Parse(v.BaseURL); err == nil && own.Host != "" && !v.Local {
			hosts[strings.ToLower(own.Host)] = i
		}
	}
	return hosts
})

// Vendors returns the known providers, in the order a person would look for them.
func Vendors() []Vendor { return slices.Clone(vendors()) }

// VendorOf finds a vendor by its kind. An unknown kind is a dialect spoken at an address the person gave.
func VendorOf(kind string) (Vendor, bool) {
	all := vendors()
	i := slices.IndexFunc(all, func(v Vendor) bool { return v.Kind == kind })
	if i < 0 {
		return Vendor{Kind: kind, Title: kind, Dialect: kind}, false
	}
	return all[i], true
}

// vendorAt finds the vendor whose own host baseURL names, so that "openai" at
// api.groq.com looks for Groq's key.
func vendorAt(baseURL string) (Vendor, bool) {
	u, err := url.Parse(baseURL)
	if err != nil || u.Host == "" {
		return Vendor{}, false
	}
	i, ok := ownHosts()[strings.ToLower(u.Host)]
	if !ok {
		return Vendor{}, false
	}
	return vendors()[i], true
}

// Vendor returns who s speaks to: by address first, by kind otherwise. A server at an address of its
// own may well need no key.
func (s Settings) Vendor() Vendor {
	v, known := VendorOf(s.Kind)
	if s.BaseURL == "" || sameHost(s.BaseURL, v.BaseURL) {
		return v
	}
	if known && v.BaseURL == "" && !v.Local {
		return v // it has many addresses, and signs in by means of its own at each
	}
	if at, ok := vendorAt(s.BaseURL); ok {
		return at
	}
	if known {
		v.NeedKey = false
	}
	return v
}

// OwnServer reports whether s speaks to a vendor's own server, whose rules are known, rather than to another that speaks alike.
func (s Settings) OwnServer() bool {
	v := s.Vendor()
	return s.BaseURL == "" || sameHost(s.BaseURL, v.BaseURL)
}

// complete checks s and fills in what the person left out. Errors: CodeInvalid.
func (s Settings) complete() (Settings, error) {
	v, _ := VendorOf(s.Kind)
	if s.Name == "" {
		s.Name = s.Kind
	}
	if s.Name == "" || len(s.Name) > 64 || strings.ContainsAny(s.Name, "/ \t\r\n\x00") {
		return s, agent.Errorf(agent.CodeInvalid, "The provider name %q does not work: use one word of at most 64 characters without a slash.", agent.Clip(s.Name, 80))
	}
	if s.BaseURL == "" {
		s.BaseURL = v.BaseURL
	}
	if s.BaseURL != "" {
		u, err := url.Parse(s.BaseURL)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.User != nil {
			return s, agent.Errorf(agent.CodeInvalid, "The address of provider %s does not work: it must look like https://host/v1, without a name or key in it.", s.Name)
		}
		s.BaseURL = strings.TrimRight(s.BaseURL, "/")
	}
	orDefault := func(d *time.Duration, def time.Duration) {
		if *d <= 0 {
			*d = def
		}
	}
	first := DefaultFirstToken
	if s.Local() {
		first = DefaultFirstTokenLocal
	}
	orDefault(&s.Connect, DefaultConnect)
	orDefault(&s.FirstToken, first)
	orDefault(&s.Stall, DefaultStall)
	s.Headers = maps.Clone(s.Headers)
	return s, nil
}

// Local reports whether the provider runs on this machine: a loopback address or no address at all.
func (s Settings) Local() bool {
	if s.BaseURL == "" {
		v, _ := VendorOf(s.Kind)
		return v.Local
	}
	u, err := url.Parse(s.BaseURL)
	return err == nil && loopbackHost(u.Hostname())
}
