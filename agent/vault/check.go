package vault

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"ash/agent"
)

// check looks at owners, permissions and kinds of all that a vault consists of; what else lies in its folder is nobody's business.
// Its errors are CodeDenied, and name the command that puts things right.
func (d *disk) check() error {
	if err := d.checkFolders(); err != nil {
		return err
	}
	all, err := d.list()
	if err != nil {
		return err
	}
	for _, name := range all {
		if name != sentinelFile && name != rootFile && !isNewFile(name) && serialOf(name) == 0 {
			continue
		}
		info, err := os.Lstat(d.path(name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed at this moment
		}
		if err != nil {
			return fileError(err, "look at", d.path(name))
		}
		if err := d.checkInfo(name, info, false); err != nil {
			return err
		}
	}
	return nil
}

// checkFolders is the part of check that every use can afford.
func (d *disk) checkFolders() error {
	for _, name := range []string{"", secretsDir, newDir} {
		info, err := os.Lstat(d.path(name))
		if errors.Is(err, fs.ErrNotExist) && name != "" {
			return agent.Wrap(agent.CodeDenied, err, "The folder %s of the vault is missing, so the vault stays locked. Put it back from a backup, or, if it was empty, run: mkdir -m 700 %s", d.path(name), quote(d.path(name)))
		}
		if err != nil {
			return fileError(err, "look at", d.path(name))
		}
		if err := d.checkInfo(name, info, true); err != nil {
			return err
		}
	}
	return nil
}

func (d *disk) checkInfo(name string, info fs.FileInfo, folder bool) error {
	p := d.path(name)
	mode := info.Mode()
	switch {
	case mode&fs.ModeSymlink != 0:
		to, err := os.Readlink(p)
		if err != nil {
			to = "WHERE-IT-LEADS"
		}
		return agent.Errorf(agent.CodeDenied, "%s is a link, which the vault does not follow, so it stays locked. Put what it leads to in its place: rm %s && mv %s %s", p, quote(p), quote(to), quote(p))
	case folder && !mode.IsDir(), !folder && !mode.IsRegular():
		return agent.Errorf(agent.CodeDenied, "%s is neither a file nor a folder that the vault made, so it stays locked. Move it away: mv %s %s", p, quote(p), quote(p+".foreign"))
	}
	if owner := ownerOf(info); owner >= 0 && owner != d.uid {
		return agent.Errorf(agent.CodeDenied, "%s belongs to another user of this machine (number %d), so the vault stays locked. If you put it there, run: sudo chown -R %d %s", p, owner, d.uid, d.amiss(name))
	}
	if perm := mode.Perm(); permissionsTell && perm&0o077 != 0 {
		return agent.Errorf(agent.CodeDenied, "%s is open to others (mode %04o), so the vault stays locked. Run: chmod -R go= %s", p, perm, d.amiss(name))
	}
	return nil
}

// quote makes a path one word of a shell.
func quote(path string) string {
	if strings.Trim(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-") == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
