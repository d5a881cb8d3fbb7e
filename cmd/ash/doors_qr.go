package main

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"
	"rsc.io/qr"

	"ash/agent"
)

// quietZone is the light margin of a QR code in the terminal, in squares. ISO/IEC 18004 asks for four; two are enough for phones, and
// with four the picture and the lines below it would not fit into a window of 24 lines.
const quietZone = 2

// qrText draws a QR code of half blocks: two squares to a character, since a character is about twice as high as wide.
//
// With colour it is black on white whatever the terminal's own colours are. Without, the light squares are drawn and the dark ones left
// out, as is right on a dark background; most phones read it the other way round as well.
func qrText(text string, colour bool) (string, error) {
	code, err := qr.Encode(text, qr.L) // a screen is not scratched, and fewer squares are easier to see
	if err != nil {
		return "", agent.Wrap(agent.CodeInvalid, err, "The address is too long for a QR code.")
	}
	dark := func(x, y int) bool { return code.Black(x, y) } // outside of the code: false
	var b strings.Builder
	for y := -quietZone; y < code.Size+quietZone; y += 2 {
		if colour {
			b.WriteString("\x1b[38;5;16;48;5;231m") // black on white, from the fixed part of the 256 colours
		}
		for x := -quietZone; x < code.Size+quietZone; x++ {
			b.WriteString(halfBlock(dark(x, y), dark(x, y+1), colour))
		}
		if colour {
			b.WriteString("\x1b[0m")
		}
		b.WriteByte('\n')
	}
	return b.String(), nil
}

// halfBlock is the character of two squares, the upper and the lower one. What is drawn is the dark with colour, the light without.
func halfBlock(upper, lower, colour bool) string {
	if !colour {
		upper, lower = !upper, !lower
	}
	switch {
	case upper && lower:
		return "█"
	case upper:
		return "▀"
	case lower:
		return "▄"
	}
	return " "
}

// isTerminalOut reports whether what is written is seen in a terminal that may be coloured (https://no-color.org).
func isTerminalOut(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
