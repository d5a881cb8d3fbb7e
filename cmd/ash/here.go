package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"ash/agent"
	"ash/agent/config"
	"ash/agent/tool/files"
	"ash/handlers"
)

// Conversations that work in a folder of the person's: ash chat --here.

// askedFile names the folders that the person said are not their own, so that they are asked once. A folder that is, is in the setting
// files.own.
const askedFile = "folders-not-own.json"

// places implements handlers.ControlPlaces over the settings and a file in the home.
type places struct {
	home   string
	config *config.Book
	mu     sync.Mutex // guards the file
}

var _ handlers.ControlPlaces = (*places)(nil)

// Check implements handlers.ControlPlaces.
func (p *places) Check(folder string) (string, error) {
	if !filepath.IsAbs(folder) {
		return "", agent.Errorf(agent.CodeInvalid, "The folder must be an absolute path.")
	}
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return "", agent.Wrap(agent.CodeNotFound, err, "The folder %s is not there.", folder)
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return "", agent.Errorf(agent.CodeInvalid, "%s is no folder.", folder)
	}
	home, err := filepath.EvalSymlinks(p.home)
	if err != nil {
		return "", agent.Wrap(agent.CodeInternal, err, "The home of Ash cannot be found.")
	}
	switch {
	case filepath.Dir(real) == real:
		return "", agent.Errorf(agent.CodeDenied, "Ash does not work in the top folder of the machine. Go into a project.")
	case below(real, home):
		return "", agent.Errorf(agent.CodeDenied, "Ash's own home %s is inside of %s: conversations cannot work there. Go into a project.", p.home, folder)
	case below(home, real):
		return "", agent.Errorf(agent.CodeDenied, "%s belongs to Ash itself: conversations cannot work there.", folder)
	}
	return real, nil
}

// below reports whether path is dir or inside it.
func below(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// Own implements handlers.OwnFolders.
func (p *places) Own(folder string) (own, asked bool) {
	if isOwn(p.config.Current().Config().Files.Own, folder) {
		return true, true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	no, err := p.read()
	return false, err == nil && slices.Contains(no, folder)
}

// Answer implements handlers.OwnFolders.
func (p *places) Answer(ctx context.Context, folder string, own bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	no, err := p.read()
	if err != nil {
		return err
	}
	no = slices.DeleteFunc(no, func(f string) bool { return f == folder })
	if own {
		if err := p.declare(ctx, folder); err != nil {
			return err
		}
	} else {
		no = append(no, folder)
	}
	return p.write(no)
}

// declare adds folder to the setting files.own.
func (p *places) declare(ctx context.Context, folder string) error {
	if strings.ContainsAny(folder, ",\n") {
		return agent.Errorf(agent.CodeInvalid, "A folder whose name has a comma is written into config.toml itself, under files.own.")
	}
	own := p.config.Current().Config().Files.Own
	if slices.Contains(own, folder) {
		return nil
	}
	_, err := p.config.Edit(ctx, "", []config.Change{{Key: "files.own", Value: strings.Join(append(slices.Clone(own), folder), ", ")}})
	return err
}

func (p *places) read() ([]string, error) {
	b, err := os.ReadFile(filepath.Join(p.home, askedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var list []string
	if err == nil {
		err = json.Unmarshal(b, &list)
	}
	if err != nil {
		return nil, agent.Wrap(agent.CodeUnavailable, err, "%s in the home of Ash cannot be read. Remove it; you are then asked anew.", askedFile)
	}
	return list, nil
}

// write replaces the file as a whole: written, fsynced, renamed.
func (p *places) write(list []string) (err error) {
	path := filepath.Join(p.home, askedFile)
	if len(list) == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return agent.Wrap(agent.CodeUnavailable, err, "That could not be remembered: %s cannot be written.", path)
		}
		return nil
	}
	b, err := json.Marshal(list)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = agent.Wrap(agent.CodeUnavailable, err, "That could not be remembered: %s cannot be written.", path)
		}
	}()
	f, err := os.CreateTemp(p.home, "."+askedFile+".*") // made with mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}

// settleHere finds the folder that ash chat --here works in, and asks once whether it is the person's own.
func (t *terminal) settleHere(ctx context.Context) error {
	at, err := os.Getwd()
	if err != nil {
		return agent.Wrap(agent.CodeUnavailable, err, "The current folder cannot be found.")
	}
	if at, err = filepath.EvalSymlinks(at); err != nil {
		return agent.Wrap(agent.CodeUnavailable, err, "The current folder cannot be found.")
	}
	root, _ := files.GitRoot(at)
	place, err := t.link.place(ctx, root)
	if err != nil {
		return err
	}
	t.root = place.Folder
	if rel, err := filepath.Rel(place.Folder, at); err == nil && rel != "." && filepath.IsLocal(rel) {
		t.dir = filepath.ToSlash(rel)
	}
	switch {
	case place.Own:
		return nil
	case !place.Asked && t.ask:
		if place, err = t.askOwn(ctx, place); err != nil || place.Own {
			return err
		}
	}
	if !t.json {
		fmt.Fprintf(t.notes, "What stands in files of %s counts as a stranger's word: Ash asks before it acts on it.\n", shown(place.Folder))
	}
	return nil
}

// askOwn asks whether a folder is the person's own, and has the answer remembered.
func (t *terminal) askOwn(ctx context.Context, place handlers.ControlPlace) (handlers.ControlPlace, error) {
	fmt.Fprintf(t.notes, "Ash works in %s.\nIs it your own: was all that stands in its files written by you, or by people you trust? Ash then\ntakes their text as yours, and asks less. [y/n] › ", shown(place.Folder))
	for {
		line, more, err := t.line(ctx)
		if err != nil {
			return place, err
		}
		switch strings.ToLower(line) {
		case "y", "yes":
			place.Own = true
			return t.link.declare(ctx, place)
		case "n", "no":
			return t.link.declare(ctx, place)
		}
		if !more {
			fmt.Fprintln(t.notes)
			return place, nil // not asked, then
		}
		fmt.Fprint(t.notes, "y or n › ")
	}
}
