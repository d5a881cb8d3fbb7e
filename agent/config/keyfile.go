package config

import (
	"bytes"
	"os"
	"strings"
	"unicode"

	"ash/agent"
)

// maxKeyFile bounds a file that holds an API key; some vendors' keys are JSON Web Tokens of a few KiB.
const maxKeyFile = 16 << 10

// ReadKeyFile returns the API key that a file holds, without the blanks around it.
//
// Errors: CodeDenied when others than the owner may read the file or nobody can; CodeNotFound when there is none;
// CodeInvalid when it is no ordinary file, too large, or holds anything but one line of visible characters.
// No error repeats what the file holds.
func ReadKeyFile(path string) (string, error) {
	// Looked at before it is opened: opening a pipe would wait for a writer.
	info, err := os.Stat(path)
	if err != nil {
		return "", fileError(err, "read the key in", path)
	}
	if !info.Mode().IsRegular() {
		return "", agent.Errorf(agent.CodeInvalid, "%s is not an ordinary file, so no key can be read from it.", path)
	}
	if perm := info.Mode().Perm(); permissionsTell && perm&othersAny != 0 {
		return "", agent.Errorf(agent.CodeDenied, "Others may read the key in %s (mode %04o). Run: chmod 600 %s", path, perm, path)
	}
	data, err := readBounded(path, maxKeyFile)
	if err != nil {
		return "", err
	}
	key := strings.TrimSpace(string(bytes.TrimPrefix(data, []byte(byteOrderMark))))
	odd := func(r rune) bool { return r > unicode.MaxASCII || r <= ' ' || r == 0x7f }
	switch {
	case key == "":
		return "", agent.Errorf(agent.CodeInvalid, "The file %s is empty; it should hold the key.", path)
	case strings.IndexFunc(key, odd) >= 0:
		return "", agent.Errorf(agent.CodeInvalid, "The file %s holds more than a key: one line without blanks is expected.", path)
	}
	return key, nil
}
