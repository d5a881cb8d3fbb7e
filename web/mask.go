package web

import (
	"github.com/labstack/echo/v4"
)

// masked takes secrets out of what stands in the address of a request: searches and filters are repeated in pages, in addresses that pages lead to, and in
// browsers' histories. mask knows exact values only, for addresses bear marks of other kinds that must arrive as they are; nil knows none.
func masked(mask func(text string) string) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			r := c.Request()
			if mask == nil || r.URL.RawQuery == "" {
				return next(c)
			}
			query, found := r.URL.Query(), false
			for _, values := range query {
				for i, v := range values {
					values[i] = mask(v)
					found = found || values[i] != v
				}
			}
			if found { // otherwise it stays as it was written
				r.URL.RawQuery = query.Encode()
				r.RequestURI = r.URL.RequestURI()
			}
			return next(c)
		}
	}
}
