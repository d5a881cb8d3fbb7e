package longtail

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"ash/agent"
	"ash/agent/llm"
)

// emptyHash is the SHA-256 of an empty body, which a signature covers.
const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// Models implements llm.Client: the inference profiles and models of the region that this dialect carries. langchaingo has
// no such call; these are two signed requests.
func (c *client) Models(ctx context.Context) ([]agent.ModelInfo, error) {
	s, err := c.account.open(ctx)
	if err != nil {
		return nil, err
	}
	var profiles struct {
		List []struct {
			ID     string `json:"inferenceProfileId"`
			Name   string `json:"inferenceProfileName"`
			Status string `json:"status"`
		} `json:"inferenceProfileSummaries"`
	}
	if err := c.account.get(ctx, s, "/inference-profiles?maxResults=1000", &profiles); err != nil {
		return nil, err
	}
	var models struct {
		List []struct {
			ID     string   `json:"modelId"`
			Name   string   `json:"modelName"`
			Inputs []string `json:"inputModalities"`
		} `json:"modelSummaries"`
	}
	if err := c.account.get(ctx, s, "/foundation-models?byInferenceType=ON_DEMAND&byOutputModality=TEXT", &models); err != nil {
		return nil, err
	}
	var out []agent.ModelInfo
	add := func(id, title string, vision bool) {
		if makerOf(id) != "" {
			out = append(out, agent.ModelInfo{Ref: agent.ModelRef{Provider: c.name, Name: id}, Title: title, Vision: vision})
		}
	}
	for _, p := range profiles.List {
		if p.Status == "" || p.Status == "ACTIVE" {
			add(p.ID, p.Name, false) // what it sees is in the catalog
		}
	}
	for _, m := range models.List {
		add(m.ID, m.Name, slices.Contains(m.Inputs, "IMAGE"))
	}
	return out, nil
}

// get makes one signed request of Bedrock's control plane and decodes its answer. Errors: *llm.Fault.
func (a *account) get(ctx context.Context, s *session, path string, out any) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, controlPlane(a.base, s.region)+path, nil)
	if err != nil {
		return llm.NewFault(llm.FaultRequest, "the address cannot be used", err)
	}
	keys, err := s.credentials.Retrieve(ctx)
	if err != nil {
		return credentialFault(err)
	}
	if err := v4.NewSigner().SignHTTP(ctx, keys, req, emptyHash, "bedrock", s.region, time.Now()); err != nil {
		return llm.NewFault(llm.FaultRequest, "the request cannot be signed", err)
	}
	resp, err := a.door.Do(req) //nolint:bodyclose // Finish closes it
	if err != nil {
		return llm.TransportFault(err)
	}
	defer llm.Finish(resp.Body, cancel)
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return llm.TransportFault(err)
	}
	if resp.StatusCode != http.StatusOK {
		return refusal(resp, raw)
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return llm.NewFault(llm.FaultMalformed, "the answer is not JSON", err)
	}
	return nil
}

// refusal reads an error of the control plane.
func refusal(resp *http.Response, body []byte) *llm.Fault {
	var words struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(body, &words) // a body that is not JSON has no message
	code, _, _ := strings.Cut(resp.Header.Get("X-Amzn-Errortype"), ":")
	f := answerFault(resp.StatusCode, code, words.Message, resp.Header)
	if f.Kind == llm.FaultDenied {
		f.Advice = "This AWS sign-in may not list models: that needs the permissions bedrock:ListFoundationModels and bedrock:ListInferenceProfiles. A model can still be used by its name."
	}
	return f
}

// controlPlane returns the address that lists models, beside the one that runs them.
func controlPlane(base, region string) string {
	if base == "" {
		domain := "amazonaws.com"
		if strings.HasPrefix(region, "cn-") {
			domain += ".cn"
		}
		return "https://bedrock." + region + "." + domain
	}
	u, err := url.Parse(base)
	if err != nil || regionOf(base) == "" {
		return base // a gateway, which has both
	}
	u.Host = strings.Replace(u.Host, "bedrock-runtime", "bedrock", 1)
	return u.String()
}
