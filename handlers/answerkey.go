package handlers

import (
	"context"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/llm"
	"ash/agent/vault"
	"ash/views/components"
)

// What an answer that failed for want of the vault or of a key is helped with, in its place.

// Unlock answers POST /chat/{thread}/messages/{message}/unlock: the vault is unlocked and the message answered anew. A wrong
// passphrase is said in the form.
func (h *Messages) Unlock(c echo.Context) error {
	n, err := h.node(c)
	if err != nil {
		return err
	}
	pass, err := hidden(c, "passphrase", maxHidden)
	if err != nil {
		return err
	}
	defer vault.Wipe(pass)
	if err := h.Vault.Secrets.Unlock(c.Request().Context(), pass); err != nil {
		if !theirs(err) {
			return err
		}
		if !ByHTMX(c) {
			return h.Vault.notOpened(c, chatPath(n.Thread)+"#m-"+string(n.ID), err)
		}
		form := unlockIn(n.Message, Token(c), h.Vault.Secrets.Status(c.Request().Context()))
		if at, err := line(c, "at", 40); err == nil && plainID(at) {
			form.Key = at
		}
		form.Problem = agent.PublicOf(err)
		return refusedInPlace(c, "unlock-"+form.Key, components.UnlockForm(form))
	}
	return h.takeUp(c, n)
}

// Key answers POST /chat/{thread}/messages/{message}/key: the key that was missing, or another for one that was refused, is kept, and the message answered anew.
func (h *Messages) Key(c echo.Context) error {
	n, err := h.node(c)
	if err != nil {
		return err
	}
	p, err := readPasted(c)
	defer p.wipe()
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	s, ok := h.Keys.status(n.Model.Provider)
	if !ok {
		return agent.Errorf(agent.CodeConflict, "The provider of this answer is no longer in the settings. Reload to see what there is.")
	}
	if len(p.key) == 0 {
		err = agent.Errorf(agent.CodeInvalid, "Paste the key: it is empty.")
	} else {
		err = h.Keys.keep(ctx, s.Settings, p)
	}
	switch {
	case err == nil:
		return h.takeUp(c, n)
	case theirs(err) && ByHTMX(c):
		form := h.keyIn(ctx, n.Message, Token(c))
		form.Problem = agent.PublicOf(err)
		return refusedInPlace(c, "keyed-"+form.Key, components.KeyInPlace(form))
	}
	return err
}

// takeUp answers anew where the message failed, unless unlocking has set that off by itself, or the conversation has gone on.
func (h *Messages) takeUp(c echo.Context, n agent.Node) error {
	if _, err := h.Turns.TakeUp(c.Request().Context(), n.Thread, n.ID); err != nil && agent.CodeOf(err) != agent.CodeConflict {
		return err
	}
	return done(c, chatPath(n.Thread))
}

// help puts into a failed answer what would help it.
func (h *Frame) help(ctx context.Context, m *components.Message, n agent.Message, token string) {
	if n.State != agent.MessageFailed || n.Error == nil || !m.Head {
		return
	}
	unlock, key := h.Keys.Helps(ctx, n)
	switch {
	case unlock:
		form := unlockIn(n, token, h.Keys.Secrets.Status(ctx))
		m.Unlock = &form
	case key:
		form := h.keyIn(ctx, n, token)
		m.Key = &form
	}
}

func unlockIn(n agent.Message, token string, s vault.Status) components.Unlock {
	form := components.Unlock{
		Key: components.Short(n.ID), To: messagePath(n, "unlock"), Label: "Unlock and answer", Inside: true, Phrase: s.Recovery, CSRF: token,
	}
	if n.State != agent.MessageFailed {
		form.Label = "Unlock and go on"
	}
	return form
}

// unlock is the form in the card of a call that waits for the vault; nil when there is nothing to unlock.
func (k *KeyKeeper) unlock(ctx context.Context, call agent.ToolCall, token string) *components.Unlock {
	s := k.Secrets.Status(ctx)
	if !s.Exists || s.Unlocked || s.Problem != "" {
		return nil
	}
	form := unlockIn(agent.Message{ID: call.Message, Thread: call.Thread}, token, s)
	form.Key = components.Short(call.ID)
	return &form
}

func (h *Frame) keyIn(ctx context.Context, n agent.Message, token string) components.KeyForm {
	form := components.KeyForm{Key: components.Short(n.ID), To: messagePath(n, "key"), Place: h.Keys.place(ctx), CSRF: token}
	if s, ok := h.Keys.status(n.Model.Provider); ok {
		form.For, form.Page = providerTitle(s.Settings), s.Vendor.KeyPage
		if n.Error != nil && n.Error.Need == agent.NeedNewKey {
			form.Instead, form.Was = true, instead(s)
		}
	}
	return form
}

// instead says what becomes of the key that a provider refused.
func instead(s llm.Status) string {
	switch s.Key.Place {
	case llm.KeyVault:
		return "The key that was refused stays in the vault until you confirm the new one there."
	case llm.KeyEnvironment, llm.KeyFile:
		return "It is used from now on, and the one in " + s.Key.Name + " no longer."
	}
	return ""
}

func messagePath(n agent.Message, action string) string {
	return chatPath(n.Thread) + "/messages/" + string(n.ID) + "/" + action
}
