package components

import (
	"context"
	"io"

	"github.com/a-h/templ"
)

// Icon names one icon of the sprite, and shows it. It is written by hand, as the field below: of what templ makes, each of several hundred places would
// have a copy.
type Icon string

// I shows an icon. It is decoration: whatever it stands for is said in words
// beside it or in the label of its button.
func I(icon Icon) templ.Component { return icon }

// Render writes the icon.
func (i Icon) Render(_ context.Context, w io.Writer) error {
	return write(w, `<svg class="i" aria-hidden="true"><use href="#i-`, templ.EscapeString(string(i)), `"></use></svg>`)
}

// csrf is the token in a CSRF field.
type csrf string

// CSRF is the hidden field every form that changes something carries.
func CSRF(token string) templ.Component { return csrf(token) }

// Render writes the field.
func (c csrf) Render(_ context.Context, w io.Writer) error {
	return write(w, `<input type="hidden" name="_csrf" value="`, templ.EscapeString(string(c)), `">`)
}

func write(w io.Writer, pieces ...string) error {
	for _, p := range pieces {
		if _, err := io.WriteString(w, p); err != nil {
			return err
		}
	}
	return nil
}
