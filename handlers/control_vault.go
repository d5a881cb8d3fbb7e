package handlers

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/vault"
)

// The vault as the command line has it: one deed at a time, by name, with all that it needs in the body of one request. The command line does
// the same deeds itself where no server runs.

// ControlVault is the vault of the running server; *vault.Vault is one.
type ControlVault interface {
	Secrets
	Verify(ctx context.Context) (map[string]error, error)
}

// ControlKeyring keeps the passphrase in the keyring of the desktop, so that Ash unlocks the vault when it starts.
type ControlKeyring interface {
	// On checks the passphrase, keeps it there, and switches the setting on. Errors: CodeDenied for a wrong one, CodeUnavailable where there is no keyring.
	On(ctx context.Context, passphrase []byte) error
	// Off takes it out of there, and switches the setting off.
	Off(ctx context.Context) error
}

// The wire forms. Hidden things travel as bytes, so that they can be overwritten; Wipe does that.
type (
	// VaultRequest is what a deed needs; each takes only some of it.
	VaultRequest struct {
		Name       string                `json:"name,omitempty"`
		Hosts      []string              `json:"hosts,omitempty"`
		Users      []string              `json:"users,omitempty"`
		Passphrase []byte                `json:"passphrase,omitempty"` // of the vault
		New        []byte                `json:"new,omitempty"`        // passphrase to come, or of an export
		Phrase     []byte                `json:"phrase,omitempty"`     // of recovery
		Value      []byte                `json:"value,omitempty"`
		Extra      []byte                `json:"extra,omitempty"` // passphrase of the secret's own
		Data       []byte                `json:"data,omitempty"`  // of a file to import
		Places     map[string]VaultPlace `json:"places,omitempty"`
	}
	// VaultPlace says under which name, and for which hosts, a key of a .env file is kept.
	VaultPlace struct {
		Name  string   `json:"name"`
		Hosts []string `json:"hosts,omitempty"`
	}
	// VaultAnswer is what came of a deed. Status always.
	VaultAnswer struct {
		Status   vault.Status      `json:"status"`
		Secrets  []vault.Info      `json:"secrets,omitempty"`
		Later    bool              `json:"later,omitempty"`   // taken in at the next unlock
		Phrase   []byte            `json:"phrase,omitempty"`  // 24 words, this once
		Export   []byte            `json:"export,omitempty"`  // encrypted
		Damaged  map[string]string `json:"damaged,omitempty"` // secrets that cannot be read, and why
		Imported vault.Imported    `json:"imported"`
		Problem  string            `json:"problem,omitempty"` // it was done, but not all that goes with it

		Kept []string `json:"-"` // secrets that are there now, for the settings
		Gone []string `json:"-"` // and that are not
	}
)

// Wipe overwrites what is hidden.
func (r *VaultRequest) Wipe() {
	for _, b := range [][]byte{r.Passphrase, r.New, r.Phrase, r.Value, r.Extra, r.Data} {
		vault.Wipe(b)
	}
}

// vaultDeed does one thing.
type vaultDeed func(ctx context.Context, v ControlVault, r *VaultRequest, out *VaultAnswer) error

// vaultDeeds are all there are, by name.
func vaultDeeds() map[string]vaultDeed {
	byName := func(do func(v ControlVault, ctx context.Context, name string) error) vaultDeed {
		return func(ctx context.Context, v ControlVault, r *VaultRequest, _ *VaultAnswer) error {
			return do(v, ctx, r.Name)
		}
	}
	byPass := func(do func(v ControlVault, ctx context.Context, pass []byte) error) vaultDeed {
		return func(ctx context.Context, v ControlVault, r *VaultRequest, _ *VaultAnswer) error {
			return do(v, ctx, r.Passphrase)
		}
	}
	return map[string]vaultDeed{
		"status":          func(context.Context, ControlVault, *VaultRequest, *VaultAnswer) error { return nil },
		"create":          byPass(ControlVault.Create),
		"unlock":          byPass(ControlVault.Unlock),
		"accept":          byPass(ControlVault.Accept),
		"repair":          byPass(ControlVault.Repair),
		"rotate-identity": byPass(ControlVault.RotateIdentity),
		"confirm":         byName(ControlVault.Confirm),
		"revert":          byName(ControlVault.Revert),
		"delete":          byName(ControlVault.Delete),
		"lock":            lockVault, "abandon": abandonVault, "list": listSecrets, "verify": verifySecrets,
		"put": putSecret, "rotate": rotateSecret, "bind": bindSecret,
		"import": importSecrets, "import-env": importEnv, "export": exportSecrets,
		"passphrase": changePassphrase, "phrase": newPhrase, "recover": recoverVault,
	}
}

// DoVault does a deed with a vault and says how that is afterwards. Errors: CodeNotFound for a deed there is not, and those of the vault. The
// caller wipes r.
func DoVault(ctx context.Context, v ControlVault, deed string, r *VaultRequest) (out VaultAnswer, err error) {
	do, ok := vaultDeeds()[deed]
	if !ok {
		return out, agent.Errorf(agent.CodeNotFound, "The vault does not know how to do that. Are Ash and this command the same version?")
	}
	err = do(ctx, v, r, &out)
	out.Status = v.Status(ctx)
	switch { // an import that broke off has added some
	case err == nil && deed == "put":
		out.Kept = []string{r.Name}
	case err == nil && deed == "delete":
		out.Gone = []string{r.Name}
	default:
		out.Kept = slices.Concat(out.Imported.Added, out.Imported.Later, out.Imported.There)
	}
	return out, err
}

func lockVault(ctx context.Context, v ControlVault, _ *VaultRequest, _ *VaultAnswer) error {
	v.Lock(ctx)
	return nil
}

func abandonVault(ctx context.Context, v ControlVault, _ *VaultRequest, _ *VaultAnswer) error {
	return v.Abandon(ctx)
}

func listSecrets(_ context.Context, v ControlVault, _ *VaultRequest, out *VaultAnswer) (err error) {
	out.Secrets, err = v.List()
	return err
}

func verifySecrets(ctx context.Context, v ControlVault, _ *VaultRequest, out *VaultAnswer) error {
	wrong, err := v.Verify(ctx)
	out.Damaged = make(map[string]string, len(wrong))
	for name, problem := range wrong {
		out.Damaged[name] = agent.PublicOf(problem)
	}
	return err
}

func putSecret(ctx context.Context, v ControlVault, r *VaultRequest, out *VaultAnswer) (err error) {
	out.Later, err = v.Put(ctx, vault.Secret{Name: r.Name, Value: r.Value, Hosts: r.Hosts, Users: r.Users, Extra: r.Extra})
	return err
}

func rotateSecret(ctx context.Context, v ControlVault, r *VaultRequest, out *VaultAnswer) (err error) {
	out.Later, err = v.Rotate(ctx, r.Name, r.Value, r.Extra)
	return err
}

func bindSecret(ctx context.Context, v ControlVault, r *VaultRequest, _ *VaultAnswer) error {
	return v.Bind(ctx, r.Name, r.Hosts, r.Users)
}

func importSecrets(ctx context.Context, v ControlVault, r *VaultRequest, out *VaultAnswer) (err error) {
	out.Imported, err = v.Import(ctx, bytes.NewReader(r.Data), r.New)
	return err
}

func importEnv(ctx context.Context, v ControlVault, r *VaultRequest, out *VaultAnswer) (err error) {
	out.Imported, err = v.ImportEnv(ctx, r.Data, func(key string) (vault.Secret, bool) {
		p, ok := r.Places[key]
		return vault.Secret{Name: p.Name, Hosts: p.Hosts}, ok
	})
	return err
}

// exportSecrets wants the passphrase though the vault is unlocked: whoever finds a terminal open shall not carry everything away.
func exportSecrets(ctx context.Context, v ControlVault, r *VaultRequest, out *VaultAnswer) error {
	if err := v.Unlock(ctx, r.Passphrase); err != nil {
		return err
	}
	var b bytes.Buffer
	err := v.Export(ctx, &b, r.New)
	out.Export = b.Bytes()
	return err
}

func changePassphrase(ctx context.Context, v ControlVault, r *VaultRequest, _ *VaultAnswer) error {
	return v.ChangePassphrase(ctx, r.Passphrase, r.New)
}

func newPhrase(ctx context.Context, v ControlVault, _ *VaultRequest, out *VaultAnswer) error {
	phrase, err := v.NewPhrase(ctx)
	out.Phrase = []byte(phrase)
	return err
}

func recoverVault(ctx context.Context, v ControlVault, r *VaultRequest, _ *VaultAnswer) error {
	return v.Recover(ctx, string(r.Phrase), r.New)
}

// vaultRoutes adds the routes of the vault to g.
func (h Control) vaultRoutes(g *echo.Group) {
	if h.Vault != nil {
		g.POST("/vault/:deed", h.vaultDo)
	}
	if h.Keyring != nil {
		g.POST("/vault/keyring/on", h.keyring)
		g.POST("/vault/keyring/off", h.keyring)
	}
}

// keyring answers POST /vault/keyring/on, which takes the passphrase, and POST /vault/keyring/off.
func (h Control) keyring(c echo.Context) error {
	var in VaultRequest
	defer in.Wipe()
	err := readHidden(c, &in)
	switch {
	case err != nil:
	case strings.HasSuffix(c.Path(), "/on"):
		err = h.Keyring.On(c.Request().Context(), in.Passphrase)
	default:
		err = h.Keyring.Off(c.Request().Context())
	}
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, VaultAnswer{})
}

// vaultDo answers POST /vault/{deed}.
func (h Control) vaultDo(c echo.Context) error {
	ctx := c.Request().Context()
	var in VaultRequest
	defer in.Wipe()
	if err := readHidden(c, &in); err != nil {
		return err
	}
	deed := c.Param("deed")
	out, err := DoVault(ctx, h.Vault, deed, &in)
	defer vault.Wipe(out.Phrase)
	if h.Kept != nil && len(out.Kept)+len(out.Gone) > 0 {
		if problem := h.Kept(ctx, out.Kept, out.Gone); problem != nil {
			out.Problem = agent.PublicOf(problem)
		}
	}
	if err != nil {
		return err
	}
	body, err := json.Marshal(out)
	if err != nil {
		return err
	}
	defer vault.Wipe(body)
	return c.JSONBlob(http.StatusOK, body)
}

// readHidden reads a request's JSON and leaves no copy of it behind.
func readHidden(c echo.Context, into any) error {
	var body bytes.Buffer
	if n := c.Request().ContentLength; n > 0 && n < 1<<20 {
		body.Grow(int(n) + bytes.MinRead) // so that it is not moved
	}
	_, err := io.Copy(&body, c.Request().Body)
	defer func() { vault.Wipe(body.Bytes()) }()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body.Bytes(), into); err != nil {
		return agent.Errorf(agent.CodeInvalid, "The request is not the JSON this API takes.") // the cause may quote it
	}
	return nil
}
