package handlers

import (
	"net/http"

	"ash/agent"
	"ash/views/components"
)

// Problem is a failed request as the person learns of it.
type Problem struct {
	Status    int
	Code      agent.Code
	Public    string // what happened and what to do next
	RequestID string // under which the log has more
	Type      string // for the API: what the status alone does not tell; usually ""
}

// TooLarge is the problem of a body of more than limit bytes.
func TooLarge(limit int64) Problem {
	public := "That is too large: at most " + components.Bytes(limit) + " can be sent here. Attach a long text as a file, or send it in parts."
	if limit >= maxFile {
		public = "That is too large: what is attached may have at most " + components.Bytes(maxFile) + "."
	}
	return Problem{Status: http.StatusRequestEntityTooLarge, Code: agent.CodeInvalid, Public: public}
}
