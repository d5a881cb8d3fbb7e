package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ash/agent"
	"ash/agent/vault"
	"ash/handlers"
)

// vaultCredential is the name of the systemd credential that holds the passphrase
// (LoadCredential=ash-vault:/path, systemd.exec(5)).
const vaultCredential = "ash-vault"

// maxLine bounds a passphrase file or a value on standard input, in bytes.
const maxLine = vault.MaxValue

// passphrase finds the passphrase of the vault: the file of the flag, the systemd credential, the terminal. The caller wipes it.
func (s *safe) passphrase(cmd *cobra.Command) ([]byte, error) {
	pass, err := storedPassphrase(s.passFile, os.LookupEnv)
	if pass != nil || err != nil {
		return pass, err
	}
	return s.ask(cmd, "Passphrase of the vault")
}

// storedPassphrase reads the passphrase from file, or where that is "" from the systemd credential; nil when there is neither.
func storedPassphrase(file string, env func(string) (string, bool)) ([]byte, error) {
	if file != "" {
		return firstLine(file, true)
	}
	dir, ok := env("CREDENTIALS_DIRECTORY")
	if !ok || dir == "" {
		return nil, nil
	}
	path := filepath.Join(dir, vaultCredential)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return firstLine(path, false) // systemd sees to who may read it
}

// firstLine reads a passphrase from a file that, if private, belongs to this user or to root, is no link, and is closed to others.
func firstLine(path string, private bool) (_ []byte, err error) {
	open := os.Open
	if private {
		open = openPrivate
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // before opening: a pipe would wait for its writer
		return nil, agent.Errorf(agent.CodeInvalid, "The passphrase file %s is not a file.", path)
	}
	f, err := open(path)
	if err != nil {
		return nil, agent.Wrap(agent.CodeNotFound, err, "The passphrase file %s cannot be read.%s", path, linked(path))
	}
	defer func() { _ = f.Close() }() // read only: nothing can be lost
	info, err := f.Stat()            // of what is read, whatever lies at the path by now
	if err != nil {
		return nil, agent.Wrap(agent.CodeUnavailable, err, "The passphrase file %s cannot be read.", path)
	}
	if !info.Mode().IsRegular() {
		return nil, agent.Errorf(agent.CodeInvalid, "The passphrase file %s is not a file.", path)
	}
	if private {
		owner, known := fileOwner(info)
		if err := closed(path, info.Mode(), owner, known, os.Geteuid()); err != nil {
			return nil, err
		}
	}
	if info.Size() > maxLine {
		return nil, agent.Errorf(agent.CodeInvalid, "The passphrase file %s is too large to be one.", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxLine+1))
	if err != nil {
		return nil, agent.Wrap(agent.CodeUnavailable, err, "The passphrase file %s cannot be read.", path)
	}
	line, _, _ := bytes.Cut(data, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(line) == 0 {
		return nil, agent.Errorf(agent.CodeInvalid, "The passphrase file %s is empty.", path)
	}
	return line, nil
}

// closed refuses a passphrase file that another user of this machine than self or root could have written, or could read.
func closed(path string, mode fs.FileMode, owner int, known bool, self int) error {
	word := shellWord(path)
	if known && owner != self && owner != 0 {
		return agent.Errorf(agent.CodeDenied, "The passphrase file %s belongs to another user of this machine (number %d). If you put it there, run: sudo chown %d %s", path, owner, self, word)
	}
	if othersMayRead(mode) {
		return agent.Errorf(agent.CodeDenied, "The passphrase file %s can be read by others (mode %04o). Run: chmod 600 %s", path, mode.Perm(), word)
	}
	return nil
}

// linked says what to do about a path that is a link; "" for what is none.
func linked(path string) string {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return ""
	}
	to, err := filepath.EvalSymlinks(path)
	if err != nil {
		return " It is a link that leads nowhere. Name the file itself."
	}
	return " It is a link, which may lead elsewhere tomorrow. Name the file itself: " + to
}

// newPassphrase reads one from file, or asks for it twice. The caller wipes it.
func (s *safe) newPassphrase(cmd *cobra.Command, file string) ([]byte, error) {
	if file != "" {
		return firstLine(file, true)
	}
	return s.twice(cmd, "New passphrase")
}

func (s *safe) twice(cmd *cobra.Command, what string) ([]byte, error) {
	first, err := s.ask(cmd, what)
	if err != nil {
		return nil, err
	}
	if err := vault.CheckPassphrase(first); err != nil {
		vault.Wipe(first)
		return nil, err
	}
	second, err := s.ask(cmd, what+", again")
	defer vault.Wipe(second)
	if err == nil && !bytes.Equal(first, second) {
		err = agent.Errorf(agent.CodeInvalid, "The two are not the same. Nothing was changed.")
	}
	if err != nil {
		vault.Wipe(first)
		return nil, err
	}
	return first, nil
}

// ask reads a line from the terminal without showing it.
func (s *safe) ask(cmd *cobra.Command, what string) ([]byte, error) {
	in, ok := cmd.InOrStdin().(*os.File)
	if !ok {
		return nil, noTerminal()
	}
	if !term.IsTerminal(int(in.Fd())) { // a value may come through a pipe while a person sits at the terminal
		tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
		if err != nil {
			return nil, noTerminal()
		}
		defer func() { _ = tty.Close() }() // nothing is lost with it
		in = tty
	}
	fmt.Fprint(cmd.ErrOrStderr(), what+": ")
	line, err := term.ReadPassword(int(in.Fd()))
	fmt.Fprintln(cmd.ErrOrStderr())
	if err != nil {
		return nil, agent.Wrap(agent.CodeUnavailable, err, "Nothing could be read from the terminal.")
	}
	return line, nil
}

func noTerminal() error {
	return agent.Errorf(agent.CodeInvalid, "There is no terminal to ask in. Give --passphrase-file, or run this in a terminal.")
}

// value reads a secret: without echo in a terminal, else the whole of standard input less its last line break. The caller wipes it.
func (s *safe) value(cmd *cobra.Command, name string) ([]byte, error) {
	in := cmd.InOrStdin()
	if isTerminal(in) {
		return s.ask(cmd, "Value of "+name)
	}
	data, err := io.ReadAll(io.LimitReader(in, maxLine+2))
	if err != nil {
		return nil, agent.Wrap(agent.CodeUnavailable, err, "Standard input cannot be read.")
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(data, []byte("\n")), []byte("\r")), nil
}

func vaultPassphraseCommand(s *safe) *cobra.Command {
	var newFile string
	cmd := &cobra.Command{
		Use:   "passphrase",
		Short: "Change the passphrase",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.with(cmd, func(k *keeper) error {
				r := new(handlers.VaultRequest)
				defer r.Wipe()
				state, err := k.do(cmd.Context(), "status", nil)
				if err != nil {
					return err
				}
				if !state.Status.Exists || state.Status.Problem != "" {
					_, err := k.do(cmd.Context(), "unlock", nil) // says why not
					return err
				}
				if r.Passphrase, err = s.passphrase(cmd); err != nil {
					return err
				}
				if r.New, err = s.newPassphrase(cmd, newFile); err != nil {
					return err
				}
				done, err := k.do(cmd.Context(), "passphrase", r)
				if err != nil {
					return err
				}
				vaultNotes(cmd, done)
				return say(cmd, "The passphrase is changed. Copies of the vault made before still open with the old one; if somebody may have both, also run: ash vault rotate-identity, and make new keys where they were issued.\n")
			})
		},
	}
	cmd.Flags().StringVar(&newFile, "new-passphrase-file", "", "read the new passphrase from the first line of this file")
	return cmd
}

func vaultPhraseCommand(s *safe) *cobra.Command {
	return &cobra.Command{
		Use:   "phrase",
		Short: "Make a recovery phrase of 24 words; an earlier one is void",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.unlocked(cmd, func(k *keeper) error {
				out, err := k.do(cmd.Context(), "phrase", nil)
				if err != nil {
					return err
				}
				defer vault.Wipe(out.Phrase)
				fmt.Fprintln(cmd.ErrOrStderr(), "Write these 24 words down on paper. They open the vault if the passphrase is lost, and are not shown again:")
				return say(cmd, "%s\n", out.Phrase)
			})
		},
	}
}

func vaultRecoverCommand(s *safe) *cobra.Command {
	var phraseFile, newFile string
	cmd := &cobra.Command{
		Use:   "recover",
		Short: "Open the vault with the recovery phrase and set a new passphrase",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.with(cmd, func(k *keeper) (err error) {
				r := new(handlers.VaultRequest)
				defer r.Wipe()
				if r.Phrase, err = s.phrase(cmd, phraseFile); err != nil {
					return err
				}
				if r.New, err = s.newPassphrase(cmd, newFile); err != nil {
					return err
				}
				done, err := k.do(cmd.Context(), "recover", r)
				if err != nil {
					return err
				}
				vaultNotes(cmd, done)
				return say(cmd, "The vault has a new passphrase. The recovery phrase stays good.\n")
			})
		},
	}
	cmd.Flags().StringVar(&phraseFile, "phrase-file", "", "read the 24 words from this file")
	cmd.Flags().StringVar(&newFile, "new-passphrase-file", "", "read the new passphrase from the first line of this file")
	return cmd
}

// phrase reads the recovery phrase, which may span lines in a file.
func (s *safe) phrase(cmd *cobra.Command, file string) ([]byte, error) {
	if file != "" {
		return readWhole(file)
	}
	return s.ask(cmd, "The 24 words")
}

func vaultIdentityCommand(s *safe) *cobra.Command {
	return &cobra.Command{
		Use:   "rotate-identity",
		Short: "Encrypt everything to new keys; passphrase and recovery phrase stay",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.with(cmd, func(k *keeper) error {
				state, err := k.do(cmd.Context(), "status", nil)
				if err == nil {
					_, err = s.unlock(cmd, k, "rotate-identity", state.Status)
				}
				if err != nil {
					return err
				}
				return say(cmd, "Everything is encrypted to new keys.\n")
			})
		},
	}
}

func vaultAcceptCommand(s *safe) *cobra.Command {
	return &cobra.Command{
		Use:   "accept",
		Short: "Accept an earlier copy of the vault that you put back yourself",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.with(cmd, func(k *keeper) error {
				if _, err := s.mend(cmd, k, "accept"); err != nil {
					return err
				}
				return say(cmd, "The vault is accepted as it is.\n")
			})
		},
	}
}

func vaultRepairCommand(s *safe) *cobra.Command {
	return &cobra.Command{
		Use:   "repair",
		Short: "Make vault.json and current anew when they are missing or damaged",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.with(cmd, func(k *keeper) error {
				if _, err := s.mend(cmd, k, "repair"); err != nil {
					return err
				}
				return say(cmd, "The vault is whole again.\n")
			})
		},
	}
}
