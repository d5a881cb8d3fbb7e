package sandbox

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/docker/docker/api/types/build"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"

	"ash/agent"
)

//go:embed Dockerfile
var dockerfile string

// imageName is the repository of Ash's image; the tag is the digest of the Dockerfile.
const imageName = "ash-sandbox"

// labelImage marks images built here.
const labelImage = "ash.image"

// errImage is why Docker cannot run commands although it is there.
var errImage = errors.New("the image is not built")

func imageTag() string {
	sum := sha256.Sum256([]byte(dockerfile))
	return imageName + ":" + hex.EncodeToString(sum[:6])
}

// image returns the name of the image to use.
func (l *dockerLink) image(ctx context.Context) (string, error) {
	tag := imageTag()
	_, err := l.cli.ImageInspect(ctx, tag)
	switch {
	case err == nil:
		return tag, nil
	case isNotFound(err):
		return "", agent.Wrap(agent.CodeUnavailable, errImage, "The sandbox is not built yet, so no command runs. Build it on the Tools page, or with: ash sandbox build")
	}
	return "", agent.Wrap(agent.CodeUnavailable, err, "%s does not answer as it should.", l.brand())
}

// build makes the image. One build at a time: another one is CodeConflict.
func (d *docker) build(ctx context.Context, s Settings, progress func(string)) error {
	if progress == nil {
		progress = func(string) {}
	}
	if s.Engine == EngineBubblewrap || s.Engine == EngineOff {
		return agent.Errorf(agent.CodeInvalid, "There is nothing to build: the settings of the sandbox do not use Docker.")
	}
	if !d.building.TryLock() {
		return agent.Errorf(agent.CodeConflict, "The sandbox is being built already.")
	}
	defer d.building.Unlock()
	l, err := d.connect(ctx, s)
	if err != nil {
		return err
	}
	source, err := buildContext()
	if err != nil {
		return err
	}
	res, err := l.cli.ImageBuild(ctx, source, build.ImageBuildOptions{
		Tags: []string{imageTag()}, Dockerfile: "Dockerfile", Remove: true, ForceRemove: true,
		Labels: map[string]string{labelImage: "1"}, BuildArgs: proxyArgs(),
	})
	if err != nil {
		return buildFailed(ctx, err)
	}
	defer func() { _ = res.Body.Close() }()
	if err := readBuild(res.Body, progress); err != nil {
		return buildFailed(ctx, err)
	}
	if _, err := l.image(ctx); err != nil {
		return buildFailed(ctx, err)
	}
	progress("The sandbox is ready: " + imageTag())
	return nil
}

func buildFailed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return agent.Wrap(agent.CodeUnavailable, err, "The sandbox could not be built: %s. It needs the network, for Debian's base image and packages; try again when that is there.", strings.TrimSuffix(firstLine(err), "."))
}

// buildContext is a tar of the Dockerfile alone.
func buildContext() (io.Reader, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	err := w.WriteHeader(&tar.Header{Name: "Dockerfile", Mode: 0o644, Size: int64(len(dockerfile))})
	if err == nil {
		_, err = w.Write([]byte(dockerfile))
	}
	return &b, errors.Join(err, w.Close())
}

// proxyArgs leads the build through the proxy that this process was given.
func proxyArgs() map[string]*string {
	args := map[string]*string{}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"} {
		if v, ok := os.LookupEnv(name); ok {
			args[name] = &v
		}
	}
	return args
}

// buildLine is one record of a build's stream (Docker Engine API, ImageBuild).
type buildLine struct {
	Stream   string          `json:"stream"`
	Status   string          `json:"status"`
	ID       string          `json:"id"`
	Progress json.RawMessage `json:"progressDetail"`
	Error    string          `json:"error"`
}

// readBuild tells the lines of a build's stream; its error is the build's.
func readBuild(r io.Reader, progress func(string)) error {
	for d := json.NewDecoder(r); ; {
		var m buildLine
		err := d.Decode(&m)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if m.Error != "" {
			return errors.New(m.Error)
		}
		text := m.Stream
		if m.Status != "" && len(m.Progress) <= len("{}") { // pulling the base image: without the bars
			text = strings.TrimSpace(m.ID + " " + m.Status)
		}
		for line := range strings.SplitSeq(text, "\n") {
			if line = strings.TrimSpace(line); line != "" {
				progress(line)
			}
		}
	}
}

// pruneImages removes images of other versions. One that is in use stays.
func (d *docker) pruneImages(ctx context.Context, s Settings) error {
	if s.Engine == EngineOff || s.Engine == EngineBubblewrap {
		return nil
	}
	l, err := d.connect(ctx, s)
	if err != nil {
		return err
	}
	list, err := l.cli.ImageList(ctx, image.ListOptions{Filters: filters.NewArgs(filters.Arg("reference", imageName))})
	if err != nil {
		return agent.Wrap(agent.CodeUnavailable, err, "%s does not list its images.", l.brand())
	}
	for _, i := range list {
		for _, tag := range i.RepoTags {
			if tag == imageTag() || strings.HasSuffix(tag, "/"+imageTag()) {
				continue
			}
			_, removeErr := l.cli.ImageRemove(ctx, tag, image.RemoveOptions{PruneChildren: true})
			if removeErr != nil && !isNotFound(removeErr) && !isConflict(removeErr) {
				err = errors.Join(err, removeErr)
			}
		}
	}
	return err
}
