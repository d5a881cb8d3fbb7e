package handlers

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"ash/agent"
)

// ControlPlaces knows the folders that conversations of the command line may work in, and whether they are the person's own.
type ControlPlaces interface {
	// Check returns the folder as it is to be stored, or says why no conversation can work there: CodeInvalid, CodeDenied, CodeNotFound.
	Check(folder string) (string, error)
	OwnFolders
}

// OwnFolders remembers which folders the person declared their own: what stands in their files is the person's word.
type OwnFolders interface {
	// Own reports whether folder is, and whether the person was asked about it before.
	Own(folder string) (own, asked bool)
	// Answer remembers what the person said.
	Answer(ctx context.Context, folder string, own bool) error
}

// ControlPlace is a folder a conversation can work in.
type ControlPlace struct {
	Folder string `json:"folder"`
	Own    bool   `json:"own"`
	Asked  bool   `json:"asked"`
}

// root checks the folder of a new thread; "" is Ash's own.
func (h Control) root(folder string) (string, error) {
	switch {
	case folder == "":
		return "", nil
	case h.Places == nil:
		return "", agent.Errorf(agent.CodeUnavailable, "This Ash does not work in other folders.")
	}
	return h.Places.Check(folder)
}

// place answers GET /places?folder=: the folder as it would be used, and what the person said about it.
func (h Control) place(c echo.Context) error {
	folder, err := h.root(c.QueryParam("folder"))
	if err != nil {
		return err
	}
	if folder == "" {
		return agent.Errorf(agent.CodeInvalid, "Say which folder.")
	}
	own, asked := h.Places.Own(folder)
	return c.JSON(http.StatusOK, ControlPlace{Folder: folder, Own: own, Asked: asked})
}

// own answers POST /places: the person says whether a folder is their own.
func (h Control) own(c echo.Context) error {
	var in ControlPlace
	if err := readControl(c, &in); err != nil {
		return err
	}
	folder, err := h.root(in.Folder)
	if err != nil {
		return err
	}
	if folder == "" {
		return agent.Errorf(agent.CodeInvalid, "Say which folder.")
	}
	if err := h.Places.Answer(c.Request().Context(), folder, in.Own); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, ControlPlace{Folder: folder, Own: in.Own, Asked: true})
}
