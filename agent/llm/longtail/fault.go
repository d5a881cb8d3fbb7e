package longtail

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/processcreds"
	"github.com/aws/aws-sdk-go-v2/credentials/ssocreds"
	"github.com/aws/smithy-go"
	smithystream "github.com/aws/smithy-go/eventstream"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"ash/agent/llm"
)

// What the person can do, where the general sentence of a fault would mislead: there is no key here to be pasted.
const (
	adviseSignIn = "Ash finds no AWS credentials that work. Sign in with “aws sso login”, “aws login” or “aws configure”; if you use a named profile, start Ash with AWS_PROFILE set to its name. Then try again."
	adviseExpiry = "The AWS sign-in has expired. Run “aws sso login” or “aws login” again (with --profile and its name, if you use a named profile), then try again."
	adviseRegion = "Ash does not know which AWS region to use. Set AWS_REGION or the profile's region, or give this provider a base URL such as https://bedrock-runtime.us-east-1.amazonaws.com."
	adviseConfig = "The AWS settings cannot be read. Check AWS_PROFILE and the files ~/.aws/config and ~/.aws/credentials, then try again."
	adviseRole   = "AWS does not let this sign-in take on the role of its profile. Check the role in ~/.aws/config, or choose another profile with AWS_PROFILE."
	adviseAccess = "This AWS sign-in may not use the model. Its role needs the permission bedrock:InvokeModelWithResponseStream (bedrock:InvokeModel for Nova), and access to the model must have been granted in the Amazon Bedrock console of this region."
	adviseClock  = "AWS does not accept the request's signature. Check that this computer's clock is right, then sign in again."
	adviseRoute  = "This model is not offered under this name in this region. Many models want the name of an inference profile, which begins with us., eu., apac. or global."
)

// advised makes a fault with words of AWS's own.
func advised(kind llm.FaultKind, advice, said string) *llm.Fault {
	f := llm.NewFault(kind, said, nil)
	f.Advice = advice
	return f
}

// found makes a fault that nobody but Ash has words about; why is for the log.
func found(kind llm.FaultKind, advice, why string) *llm.Fault {
	f := llm.NewFault(kind, "", errors.New(why))
	f.Advice = advice
	return f
}

func noRegion() *llm.Fault { return found(llm.FaultRequest, adviseRegion, "no AWS region is set") }

func noCredentials(detail string) *llm.Fault {
	return advised(llm.FaultNoKey, adviseSignIn, detail)
}

// configFault says why the AWS settings cannot be used.
func configFault(err error) *llm.Fault {
	var missing config.SharedConfigProfileNotExistError
	if errors.As(err, &missing) {
		return advised(llm.FaultNoKey, "There is no AWS profile named “"+missing.Profile+"”. Check AWS_PROFILE and ~/.aws/config, then try again.", "no such AWS profile")
	}
	return advised(llm.FaultNoKey, adviseConfig, err.Error())
}

// credentialFault says why there are no credentials. It keeps no cause: a credential process's error repeats what it printed.
func credentialFault(err error) *llm.Fault {
	var (
		process *processcreds.ProviderError
		session *ssocreds.InvalidTokenError
		op      *smithy.OperationError
		refused smithy.APIError
	)
	service := ""
	if errors.As(err, &op) {
		service = op.Service()
	}
	text := err.Error()
	switch answered := errors.As(err, &refused); {
	case errors.As(err, &process):
		return noCredentials("the profile's credential_process failed")
	case errors.As(err, &session), strings.Contains(text, "SSO token"), strings.Contains(text, "please reauthenticate"),
		answered && (service == "SSO" || service == "SSO OIDC" || service == "Signin"):
		return found(llm.FaultAuth, adviseExpiry, "the AWS sign-in has expired")
	case answered && service == "STS" && strings.HasPrefix(refused.ErrorCode(), "AccessDenied"):
		return advised(llm.FaultDenied, adviseRole, refused.ErrorMessage())
	case answered && service == "STS":
		return advised(llm.FaultAuth, adviseExpiry, refused.ErrorMessage())
	}
	return noCredentials(text)
}

// callFault says why a call of the model failed.
func callFault(err error) *llm.Fault {
	if f := llm.FaultOf(err); f != nil {
		return f
	}
	var (
		refused  smithy.APIError
		response *smithyhttp.ResponseError
		status   int
		header   http.Header
	)
	if errors.As(err, &response) && response.Response != nil {
		status, header = response.HTTPStatusCode(), response.Response.Header
	}
	if errors.As(err, &refused) {
		return answerFault(status, refused.ErrorCode(), refused.ErrorMessage(), header)
	}
	if status >= http.StatusBadRequest {
		return answerFault(status, "", "", header)
	}
	if unreadable(err) {
		return llm.NewFault(llm.FaultMalformed, "an event or answer cannot be read", err)
	}
	return llm.TransportFault(err)
}

// unreadable reports whether err is about what the server sent rather than about the connection.
func unreadable(err error) bool {
	var (
		syntax    *json.SyntaxError
		kind      *json.UnmarshalTypeError
		checksum  eventstream.ChecksumError
		length    eventstream.LengthError
		checksum2 smithystream.ChecksumError
		length2   smithystream.LengthError
		decode    *smithy.DeserializationError
		text      = err.Error()
	)
	return errors.As(err, &syntax) || errors.As(err, &kind) || errors.As(err, &checksum) || errors.As(err, &length) ||
		errors.As(err, &checksum2) || errors.As(err, &length2) || errors.As(err, &decode) ||
		text == "no results" || strings.HasPrefix(text, "completed due to ") // langchaingo's own
}

// answerFault reads an error of Bedrock, from a response or from within a stream (status 0). code is its name
// (https://docs.aws.amazon.com/bedrock/latest/APIReference/CommonErrors.html and API_runtime_InvokeModelWithResponseStream.html).
func answerFault(status int, code, message string, header http.Header) *llm.Fault {
	var f *llm.Fault
	switch code {
	case "ExpiredTokenException", "ExpiredToken":
		f = advised(llm.FaultAuth, adviseExpiry, message)
	case "UnrecognizedClientException", "InvalidClientTokenId", "MissingAuthenticationTokenException", "IncompleteSignatureException", "InvalidSecurity":
		f = advised(llm.FaultAuth, adviseSignIn, message)
	case "InvalidSignatureException", "SignatureDoesNotMatch", "RequestExpired":
		f = advised(llm.FaultAuth, adviseClock, message)
	case "AccessDeniedException", "NotAuthorized", "OptInRequired":
		f = advised(llm.FaultDenied, adviseAccess, message)
	case "ThrottlingException", "TooManyRequestsException", "ServiceQuotaExceededException", "LimitExceededException":
		f = llm.NewFault(llm.FaultRateLimit, message, nil)
	case "ModelNotReadyException", "ServiceUnavailableException", "ServiceUnavailable":
		f = llm.NewFault(llm.FaultOverload, message, nil)
	case "InternalServerException", "InternalFailure", "ModelErrorException", "ModelStreamErrorException", "ModelTimeoutException":
		f = llm.NewFault(llm.FaultServer, message, nil)
	case "ResourceNotFoundException":
		f = advised(llm.FaultModel, adviseRoute, message)
	default:
		f = otherFault(status, message)
	}
	f.Status = status
	if header != nil {
		f.RetryAfter = llm.RetryAfter(header, time.Now())
	}
	return f
}

// otherFault reads what Bedrock says in words alone, most of it as a ValidationException.
func otherFault(status int, message string) *llm.Fault {
	text := strings.ToLower(message)
	switch {
	case strings.Contains(text, "model identifier is invalid"), strings.Contains(text, "on-demand throughput"), strings.Contains(text, "inference profile"):
		return advised(llm.FaultModel, adviseRoute, message)
	case strings.Contains(text, "operation not allowed"):
		return advised(llm.FaultDenied, adviseAccess, message)
	}
	body, err := json.Marshal(map[string]string{"message": message})
	if err != nil {
		return llm.NewFault(llm.FaultRequest, message, err) // a map of strings always encodes
	}
	if status == 0 {
		status = http.StatusBadRequest
	}
	return llm.BodyFault(status, body)
}
