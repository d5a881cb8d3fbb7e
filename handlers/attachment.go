package handlers

import (
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"ash/agent"
	"ash/agent/attachment"
	"ash/views/components"
)

// maxFile is the most an attachment may have, in bytes.
const maxFile = attachment.MaxSize

// Files keeps attachments by the hash of their content.
type Files interface {
	Put(ctx context.Context, name string, r io.Reader) (agent.Part, error)
	Part(ctx context.Context, hash, name string) (agent.Part, error)
	Get(ctx context.Context, hash string) (*attachment.Object, error)
}

// Attachments takes in files and gives them out.
type Attachments struct {
	Files Files
}

// Upload answers POST /attachments: the chip for the composer, which says why
// when the file cannot be used.
func (h *Attachments) Upload(c echo.Context) error {
	if err := ParseForm(c.Request()); err != nil {
		return err
	}
	head, err := c.FormFile("file")
	if err != nil {
		return agent.Wrap(agent.CodeInvalid, err, "No file arrived.")
	}
	part, err := put(c.Request().Context(), h.Files, head)
	if agent.CodeOf(err) == agent.CodeInvalid {
		refused := components.File{Name: attachment.CleanName(head.Filename), Size: head.Size, Problem: agent.PublicOf(err)}
		return render(c, http.StatusUnprocessableEntity, components.Chip(refused))
	}
	if err != nil {
		return err
	}
	file, _ := presentFile(part)
	return render(c, http.StatusOK, components.Chip(file))
}

func put(ctx context.Context, files Files, head *multipart.FileHeader) (part agent.Part, err error) {
	f, err := head.Open()
	if err != nil {
		return nil, agent.Wrap(agent.CodeInvalid, err, "The file %s did not arrive whole. Try again.", attachment.CleanName(head.Filename))
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return files.Put(ctx, head.Filename, f)
}

// Download answers GET /attachments/{hash}/{name}. Pictures are shown; everything else is
// saved, so that no browser runs what a file holds.
func (h *Attachments) Download(c echo.Context) (err error) {
	o, err := h.Files.Get(c.Request().Context(), c.Param("hash"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	name, err := url.PathUnescape(c.Param("name"))
	if err != nil {
		name = ""
	}
	how := "attachment"
	if strings.HasPrefix(o.Media, "image/") && o.Media != "image/svg+xml" && c.QueryParam("download") == "" {
		how = "inline"
	}
	header := c.Response().Header()
	header.Set(echo.HeaderContentType, o.Media)
	header.Set(echo.HeaderContentDisposition, disposition(how, attachment.CleanName(name)))
	header.Set(echo.HeaderContentSecurityPolicy, "default-src 'none'; sandbox; frame-ancestors 'none'")
	http.ServeContent(c.Response(), c.Request(), "", o.Modified, o)
	return nil
}

// disposition says what a browser does with a download, and what it calls it (RFC 6266).
func disposition(how, name string) string {
	return mime.FormatMediaType(how, map[string]string{"filename": name})
}

func attachmentURL(hash, name string) string {
	return "/attachments/" + hash + "/" + url.PathEscape(name)
}

// attachments makes parts of what the composer's form names ("<hash>/<name>") and of
// the files that came with it.
func (h *Messages) attachments(c echo.Context) ([]agent.Part, error) {
	ctx, form := c.Request().Context(), c.Request().PostForm
	named := form["attachment"]
	var heads []*multipart.FileHeader
	if m := c.Request().MultipartForm; m != nil {
		named, heads = m.Value["attachment"], m.File["files"]
	}
	if len(named)+len(heads) > maxAttachments {
		return nil, agent.Errorf(agent.CodeInvalid, "At most %d files can be sent with one message.", maxAttachments)
	}
	var parts []agent.Part
	for _, x := range named {
		hash, name, _ := strings.Cut(x, "/")
		part, err := h.Files.Part(ctx, hash, name)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	for _, head := range heads {
		if head.Filename == "" || head.Size == 0 { // a file field left empty
			continue
		}
		part, err := put(ctx, h.Files, head)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}
