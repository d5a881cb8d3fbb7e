package longtail

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/smithy-go/logging"

	"ash/agent/llm"
)

// signInLimit bounds one request of a sign-in (single sign-on, assumed roles, instance metadata). The AWS client shares a
// sign-in between callers and lets it go on when one of them gives up.
const signInLimit = 20 * time.Second

// account finds the way into AWS: settings and credentials where its own tools look for them
// (https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html).
type account struct {
	base   string // "" is AWS's own address in the region
	door   door
	logger *slog.Logger

	mu      sync.Mutex
	session *session // nil until the first use, and after credentials failed
}

// session is an account whose settings have been read.
type session struct {
	region      string
	credentials aws.CredentialsProvider
	runtime     *bedrockruntime.Client
}

func newAccount(c llm.Connection) *account {
	logger := c.Logger
	if logger == nil {
		logger = slog.Default()
	}
	return &account{base: c.Settings.BaseURL, door: door{http: c.HTTP, headers: c.Settings.Headers}, logger: logger}
}

// open returns the session, with credentials that were good a moment ago. Errors: *llm.Fault.
func (a *account) open(ctx context.Context) (*session, error) {
	s, err := a.load(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := s.credentials.Retrieve(ctx); err != nil {
		if ctx.Err() != nil {
			return nil, llm.TransportFault(ctx.Err())
		}
		a.forget()
		return nil, credentialFault(err)
	}
	return s, nil
}

// load reads the settings once. What fails is read anew the next time, when the person may have mended it.
func (a *account) load(ctx context.Context) (*session, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.session != nil {
		return a.session, nil
	}
	settings, err := config.LoadDefaultConfig(ctx,
		config.WithHTTPClient(awshttp.NewBuildableClient().WithTimeout(signInLimit)),
		config.WithLogger(logging.Nop{})) // it would write to the terminal
	if err != nil {
		if ctx.Err() != nil {
			return nil, llm.TransportFault(ctx.Err())
		}
		return nil, configFault(err)
	}
	s := &session{region: settings.Region, credentials: settings.Credentials}
	if named := regionOf(a.base); named != "" {
		s.region = named
	}
	switch {
	case s.region == "":
		return nil, noRegion()
	case s.credentials == nil:
		return nil, noCredentials("none are set up")
	}
	s.runtime = bedrockruntime.NewFromConfig(settings, func(o *bedrockruntime.Options) {
		o.Region = s.region
		o.HTTPClient = a.door
		o.Retryer = aws.NopRetryer{} // trying again is the chain's
		// A Bedrock API key in the environment would otherwise be taken instead of the sign-in.
		o.BearerAuthTokenProvider = nil
		o.AuthSchemePreference = []string{"sigv4"}
		if a.base != "" {
			o.BaseEndpoint = aws.String(a.base)
		}
	})
	a.session = s
	a.logger.DebugContext(ctx, "aws settings read", slog.String("region", s.region))
	return s, nil
}

// forget lets the settings be read anew, because what they led to does not do.
func (a *account) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.session = nil
}

// explain turns a failed call into a fault.
func (a *account) explain(ctx context.Context, err error) *llm.Fault {
	if ctx.Err() != nil {
		return llm.TransportFault(ctx.Err())
	}
	f := callFault(err)
	if f.Kind == llm.FaultAuth {
		a.forget()
	}
	return f
}

// regionOf reads the region from one of Bedrock's own addresses (https://docs.aws.amazon.com/general/latest/gr/bedrock.html);
// "" for any other.
func regionOf(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	host := strings.ToLower(u.Hostname())
	name, rest, ok := strings.Cut(host, ".")
	if !ok || !strings.HasPrefix(name, "bedrock") {
		return ""
	}
	region, domain, ok := strings.Cut(rest, ".")
	switch {
	case ok && (domain == "amazonaws.com" || domain == "amazonaws.com.cn" || domain == "api.aws"):
		return region
	case ok && strings.HasSuffix(domain, ".vpce.amazonaws.com"):
		return strings.TrimSuffix(domain, ".vpce.amazonaws.com")
	}
	return ""
}

// door is the HTTP client of a connection as the AWS client uses it: with the headers of the settings, and with bounds on
// what is read whole. It carries the model's requests only; signing in has a client of its own.
type door struct {
	http    *http.Client
	headers map[string]string
}

// Do implements the AWS client's HTTPClient.
func (d door) Do(req *http.Request) (*http.Response, error) {
	for k, v := range d.headers {
		req.Header.Set(k, v)
	}
	if err := detach(req); err != nil {
		return nil, err
	}
	resp, err := d.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests {
		if f := llm.NotStream(resp); f != nil {
			return nil, f
		}
	}
	if resp.Header.Get("Content-Type") != eventStream { // its reader bounds each event
		resp.Body = bounded{Reader: io.LimitReader(resp.Body, llm.MaxBody), Closer: resp.Body}
	}
	return resp, nil
}

// detach gives a request a body of its own. The AWS client (smithy-go 1.28) closes the body it made as soon as the response's headers
// are there; when the transport has not seen the body's end by then, it takes that for a failure and closes the connection under the stream.
func detach(req *http.Request) error {
	if req.Body == nil {
		return nil
	}
	sent, err := io.ReadAll(req.Body)
	if err != nil {
		return err
	}
	if err := req.Body.Close(); err != nil {
		return err
	}
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(sent)), nil }
	req.Body = io.NopCloser(bytes.NewReader(sent))
	return nil
}

// eventStream is the media type of streamed answers.
const eventStream = "application/vnd.amazon.eventstream"

type bounded struct {
	io.Reader
	io.Closer
}
