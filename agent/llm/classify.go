package llm

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"ash/agent"
)

// TransportFault says what kind of failure a network or reading error is. A *Fault is returned as it is.
func TransportFault(err error) *Fault {
	if f := FaultOf(err); f != nil {
		return f
	}
	var (
		dns     *net.DNSError
		op      *net.OpError
		netErr  net.Error
		record  tls.RecordHeaderError
		certErr *tls.CertificateVerificationError
		host    x509.HostnameError
	)
	switch {
	case errors.Is(err, context.Canceled):
		return NewFault(FaultCancelled, "", err)
	case errors.Is(err, errForeignRedirect):
		return NewFault(FaultNotAPI, err.Error(), err)
	case errors.Is(err, ErrTooLong):
		return NewFault(FaultMalformed, "a piece of the answer is too large", err)
	case errors.As(err, &dns):
		return NewFault(FaultUnreachable, "no such host: "+dns.Name, err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return NewFault(FaultUnreachable, "connection refused", err)
	case errors.As(err, &record), errors.As(err, &certErr), errors.As(err, &host):
		return NewFault(FaultUnreachable, "no trusted TLS connection", err)
	case errors.As(err, &op) && op.Op == "dial":
		return NewFault(FaultUnreachable, "no connection", err)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		return NewFault(FaultTimeout, "", err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, net.ErrClosed):
		return NewFault(FaultCut, "", err)
	}
	// What is left are protocol errors (a malformed HTTP answer, an HTTP/2 reset): the connection is lost either way.
	return NewFault(FaultCut, "", err)
}

// ResponseFault reads the body of a failed response, bounded, and says what it means. It closes the body. now places a Retry-After that is a date.
func ResponseFault(resp *http.Response, now time.Time) *Fault {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	_ = resp.Body.Close()
	if isHTML(resp.Header.Get("Content-Type"), body) && resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests {
		f := NewFault(FaultNotAPI, "", err)
		f.Status = resp.StatusCode
		return f
	}
	f := BodyFault(resp.StatusCode, body)
	f.Err = err
	f.RetryAfter = RetryAfter(resp.Header, now)
	return f
}

// NotStream returns a fault when a successful response is not what was asked for: a web page instead of JSON or events. It then closes the body.
func NotStream(resp *http.Response) *Fault {
	if !isHTML(resp.Header.Get("Content-Type"), nil) {
		return nil
	}
	_ = resp.Body.Close()
	f := NewFault(FaultNotAPI, "", nil)
	f.Status = resp.StatusCode
	return f
}

// BodyFault classifies an error body, from a response or from within a stream (status 0), whichever of the
// vendors' forms it has.
func BodyFault(status int, body []byte) *Fault {
	typ, code, message := errorFields(body)
	if message == "" && !isHTML("", body) && !json.Valid(body) {
		message = string(body)
	}
	if n, err := strconv.Atoi(code); err == nil && status == 0 && n >= 400 && n < 600 {
		status = n // in a stream the status has no other place (OpenRouter, Gemini)
	}
	f := NewFault(kindOf(status, typ, code, message), message, nil)
	f.Status = status
	return f
}

// errorFields finds type, code and message in the error bodies of OpenAI {"error":{…}}, Gemini [{"error":{…}}],
// Anthropic {"type":"error","error":{…}}, Ollama {"error":"…"}, Mistral {"type","message","code"} and
// FastAPI servers {"detail":…}.
func errorFields(body []byte) (typ, code, message string) {
	body = bytes.TrimSpace(body)
	if len(body) > 0 && body[0] == '[' {
		var list []json.RawMessage
		if json.Unmarshal(body, &list) == nil && len(list) > 0 {
			body = list[0]
		}
	}
	var outer map[string]json.RawMessage
	if json.Unmarshal(body, &outer) != nil {
		return "", "", ""
	}
	if inner, ok := outer["error"]; ok {
		if s := asText(inner); s != "" {
			return "", "", s
		}
		var fields map[string]json.RawMessage
		if json.Unmarshal(inner, &fields) == nil && fields != nil {
			outer = fields
		}
	}
	typ, code = asText(outer["type"]), asText(outer["code"])
	if s := asText(outer["status"]); s != "" { // Gemini names the error here
		typ = strings.TrimSpace(typ + " " + s)
	}
	for _, k := range []string{"message", "detail", "error_description"} {
		if raw, ok := outer[k]; ok {
			if message = asText(raw); message == "" {
				message = string(raw)
			}
			break
		}
	}
	return typ, code, message
}

// asText returns a JSON string or number as text, "" for anything else.
func asText(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) == nil {
		return s
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return n.String()
	}
	return ""
}

// kindOf decides by what the vendors document, words before status: a spent account, for one, is 429 at OpenAI,
// 402 at DeepSeek and 400 at Anthropic.
func kindOf(status int, typ, code, message string) FaultKind {
	name := strings.ToLower(typ + " " + code)
	text := strings.ToLower(agent.Clip(message, 2000))
	switch {
	case hasAny(name, "context_length", "exceed_context_size") || saysTooLong(text):
		return FaultContext
	case hasAny(name, "insufficient_quota", "billing", "insufficient_balance", "credits_required") || status == http.StatusPaymentRequired ||
		hasAny(text, "credit balance", "insufficient balance", "insufficient credits", "insufficient funds", "check your plan and billing", "billing hard limit", "spending limit", "exceeded your current quota, please check"):
		return FaultQuota
	case hasAny(name, "overloaded"):
		return FaultOverload
	case hasAny(name, "rate_limit", "rate limit", "resource_exhausted", "tokens_per", "requests_per") || status == http.StatusTooManyRequests:
		return FaultRateLimit
	case hasAny(name, "invalid_api_key", "authentication", "unauthenticated", "api_key_invalid") || status == http.StatusUnauthorized ||
		hasAny(text, "api key not valid", "incorrect api key", "invalid api key", "api key not found", "invalid x-api-key"):
		return FaultAuth
	case hasAny(name, "content_filter", "content_policy") || hasAny(text, "content management policy", "content policy"):
		return FaultFilter
	}
	return kindOfStatus(status, name, text)
}

func kindOfStatus(status int, name, text string) FaultKind {
	noModel := hasAny(text, "model") && hasAny(text, "not found", "does not exist", "not exist", "unknown model", "invalid model", "no such model", "not a valid model", "no endpoints found", "decommissioned", "is not supported for generatecontent") ||
		hasAny(name, "not_found") && hasAny(text, "model")
	switch {
	case hasAny(name, "model_not_found", "model_decommissioned", "invalid_model") || noModel && status < 500:
		return FaultModel
	case status == http.StatusForbidden || hasAny(name, "permission"):
		return FaultDenied
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed:
		return FaultAddress
	case status == http.StatusRequestEntityTooLarge:
		return FaultContext
	case status == 529 || status == http.StatusServiceUnavailable || hasAny(text, "overloaded", "at capacity", "high demand"):
		return FaultOverload
	case status == http.StatusRequestTimeout || status == http.StatusGatewayTimeout:
		return FaultTimeout
	case status >= 500 || status == 0:
		return FaultServer
	}
	return FaultRequest
}

// saysTooLong knows the ways servers say that a prompt does not fit.
func saysTooLong(text string) bool {
	return hasAny(text, "context length", "context window", "context size", "maximum context", "prompt is too long", "input is too long", "prompt too long",
		"input length and `max_tokens` exceed", "too many tokens", "reduce the length of the messages", "maximum prompt length", "exceeds the available context",
		"input token count") && !hasAny(text, "rate limit", "per minute")
}

func hasAny(s string, subs ...string) bool {
	for _, sub := range subs {
		if strings.Contains(s, sub) {
			return true
		}
	}
	return false
}

func isHTML(contentType string, body []byte) bool {
	if strings.HasPrefix(strings.ToLower(contentType), "text/html") {
		return true
	}
	head := bytes.ToLower(bytes.TrimSpace(body[:min(len(body), 256)]))
	return bytes.HasPrefix(head, []byte("<!doctype html")) || bytes.HasPrefix(head, []byte("<html"))
}

// MaxRetryAfter bounds how long a server may ask to wait.
const MaxRetryAfter = 60 * time.Second

// RetryAfter reads the header of that name (RFC 9110, section 10.2.3: seconds or a date) and OpenAI's
// retry-after-ms. It returns 0 when there is none or it lies in the past; the value is not capped here.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if value == "" {
		return 0
	}
	if s, err := strconv.ParseFloat(value, 64); err == nil {
		if s > 0 && s < 1e9 {
			return time.Duration(s * float64(time.Second))
		}
		return 0
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return max(at.Sub(now), 0)
}
