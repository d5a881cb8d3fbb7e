package guard

import (
	"slices"
)

// maxRuleName bounds the name in a mark, in bytes.
const maxRuleName = 64

// Names of the own rules that are no vendor's.
const (
	ruleExact    = "vault"
	rulePassword = "password"
	rulePIN      = "pin"
	ruleKey      = "key"
	ruleCode     = "code"
	rulePhrase   = "recovery-phrase"
	ruleCard     = "payment-card"
	rulePEM      = "private-key"
	ruleURL      = "url-password"
	ruleJWT      = "jwt"
)

// knownRule reports whether name is of a rule of this package or of gitleaks.
func knownRule(name string) bool {
	if name == "" || len(name) > maxRuleName {
		return false
	}
	switch name {
	case ruleExact, rulePassword, rulePIN, ruleKey, ruleCode, rulePhrase, ruleCard, rulePEM, ruleURL, ruleJWT, "telegram-bot-token", "discord-token", "slack-webhook", "discord-webhook", "basic-auth":
		return true
	}
	if slices.ContainsFunc(vendors[:], func(v vendor) bool { return v.rule == name }) {
		return true
	}
	return knownLeakRule(name)
}
