package handlers

// ReadNewMemory reads a body as POST /memories does.
func ReadNewMemory(raw []byte) (in APINewMemory, err error) {
	err = decodeStrict(raw, &in)
	return in, err
}
