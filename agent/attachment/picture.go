package attachment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"ash/agent"
)

// Bounds on pictures. A small file can claim to be huge and exhaust whoever decodes it: the
// browser, the model's server.
const (
	MaxSide   = 16_384      // pixels
	MaxPixels = 100_000_000 // more than any phone takes
)

// imageMedia recognises the pictures that models and browsers both take.
func imageMedia(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(head, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(head, []byte("GIF87a")), bytes.HasPrefix(head, []byte("GIF89a")):
		return "image/gif"
	case len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP":
		return "image/webp"
	}
	return ""
}

// measure reads a picture's size from its header; the pixels are not decoded.
func measure(media string, r io.Reader) (width, height int, err error) {
	var c image.Config
	switch media {
	case "image/png":
		c, err = png.DecodeConfig(r)
	case "image/jpeg":
		c, err = jpeg.DecodeConfig(r)
	case "image/gif":
		c, err = gif.DecodeConfig(r)
	default:
		c, err = webpConfig(r)
	}
	if err != nil || c.Width < 1 || c.Height < 1 {
		return 0, 0, refuse(err, "This picture is damaged.")
	}
	if c.Width > MaxSide || c.Height > MaxSide || int64(c.Width)*int64(c.Height) > MaxPixels {
		return 0, 0, agent.Errorf(agent.CodeInvalid,
			"This picture is too large: %d × %d pixels, where at most %d on a side and %d million together can be used. Scale it down and attach it again.",
			c.Width, c.Height, MaxSide, MaxPixels/1_000_000)
	}
	return c.Width, c.Height, nil
}

// webpConfig reads the size of a WebP picture in its three forms
// (RFC 9649, sections 2.5 to 2.7; the key frame header of VP8 is RFC 6386, section 9.1).
func webpConfig(r io.Reader) (c image.Config, err error) {
	b := make([]byte, 30)
	if n, err := io.ReadFull(r, b); err != nil && !(errors.Is(err, io.ErrUnexpectedEOF) && n >= 25) {
		return c, fmt.Errorf("webp: %w", err)
	}
	switch string(b[12:16]) {
	case "VP8X":
		c.Width = 1 + int(uint32(b[24])|uint32(b[25])<<8|uint32(b[26])<<16)
		c.Height = 1 + int(uint32(b[27])|uint32(b[28])<<8|uint32(b[29])<<16)
	case "VP8L":
		if b[20] != 0x2f {
			return c, errors.New("webp: no lossless signature")
		}
		bits := binary.LittleEndian.Uint32(b[21:])
		c.Width, c.Height = 1+int(bits&0x3fff), 1+int(bits>>14&0x3fff)
	case "VP8 ":
		if b[20]&1 != 0 || b[23] != 0x9d || b[24] != 0x01 || b[25] != 0x2a {
			return c, errors.New("webp: no key frame")
		}
		c.Width = int(binary.LittleEndian.Uint16(b[26:]) & 0x3fff)
		c.Height = int(binary.LittleEndian.Uint16(b[28:]) & 0x3fff)
	default:
		return c, errors.New("webp: unknown form")
	}
	return c, nil
}
