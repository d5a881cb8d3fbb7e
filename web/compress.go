package web

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"
)

// worthIt is the size of a first write from which compressing pays. Pages are
// rendered whole and written at once, so it is the size of the page.
const worthIt = 1024 // bytes

// compress gzips pages and fragments. Streams, downloads and embedded files
// (already compressed) do not pass through it.
func compress() echo.MiddlewareFunc {
	writers := sync.Pool{New: func() any {
		w, _ := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed) // fails for unknown levels only
		return w
	}}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			res := c.Response()
			res.Header().Add(echo.HeaderVary, echo.HeaderAcceptEncoding)
			if !strings.Contains(c.Request().Header.Get(echo.HeaderAcceptEncoding), "gzip") {
				return next(c)
			}
			z := &zipper{ResponseWriter: res.Writer, pool: &writers}
			res.Writer = z
			defer func() { res.Writer = z.ResponseWriter }()
			err := next(c)
			if err != nil {
				c.Error(err) // answered in here, so that it is compressed too
			}
			return z.finish()
		}
	}
}

// zipper decides at the first write whether to compress; until then it holds
// the status back, since compressing changes the header.
type zipper struct {
	http.ResponseWriter
	pool   *sync.Pool
	status int
	begun  bool
	gzip   *gzip.Writer
}

func (z *zipper) WriteHeader(status int) {
	if !z.begun && z.status == 0 {
		z.status = status
	}
}

func (z *zipper) Write(p []byte) (int, error) {
	if !z.begun {
		z.begin(p)
	}
	if z.gzip != nil {
		return z.gzip.Write(p)
	}
	return z.ResponseWriter.Write(p)
}

func (z *zipper) begin(first []byte) {
	z.begun = true
	h := z.Header()
	if len(first) >= worthIt && h.Get(echo.HeaderContentEncoding) == "" && textual(h.Get(echo.HeaderContentType)) {
		h.Set(echo.HeaderContentEncoding, "gzip")
		h.Del(echo.HeaderContentLength)
		z.gzip, _ = z.pool.Get().(*gzip.Writer) // the pool holds nothing else
		z.gzip.Reset(z.ResponseWriter)
	}
	if z.status != 0 {
		z.ResponseWriter.WriteHeader(z.status)
	}
}

// finish writes what is held back.
func (z *zipper) finish() error {
	if !z.begun {
		z.begin(nil)
	}
	if z.gzip == nil {
		return nil
	}
	err := z.gzip.Close()
	z.gzip.Reset(io.Discard)
	z.pool.Put(z.gzip)
	return err
}

// Unwrap lets http.ResponseController reach the connection.
func (z *zipper) Unwrap() http.ResponseWriter { return z.ResponseWriter }

func textual(media string) bool {
	return strings.HasPrefix(media, "text/") || strings.HasPrefix(media, "application/json") || strings.HasPrefix(media, "image/svg")
}
