package tool

// Approved reports whether p is what the person approved, for a call they decided on; it is true for all others. A tool
// whose target may change between the last Judge and its effect asks once more, while it keeps the target from changing.
func (e Env) Approved(p Plan) bool {
	return e.Call.Decision == nil || e.Call.Binding == binding(e.Call, p)
}
