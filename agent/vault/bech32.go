package vault

import "strings"

// bech32 encodes data under a human-readable part in lower case (BIP-173, with the length limit that age
// lifts): the form in which age takes a private key. age itself reads and writes it, but keeps the encoder to itself.
func bech32(hrp string, data []byte) string {
	const charset = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
	var five []byte
	acc, bits := 0, 0
	for _, b := range data {
		acc, bits = acc<<8|int(b), bits+8
		for bits >= 5 {
			bits -= 5
			five = append(five, byte(acc>>bits&31))
		}
		acc &= 1<<bits - 1
	}
	if bits > 0 {
		five = append(five, byte(acc<<(5-bits)&31))
	}
	var spread []byte
	for _, c := range []byte(hrp) {
		spread = append(spread, c>>5)
	}
	spread = append(spread, 0)
	for _, c := range []byte(hrp) {
		spread = append(spread, c&31)
	}
	sum := polymod(append(append(spread, five...), 0, 0, 0, 0, 0, 0)) ^ 1
	for i := range 6 {
		five = append(five, byte(sum>>(5*(5-i))&31))
	}
	var out strings.Builder
	out.WriteString(hrp + "1")
	for _, v := range five {
		out.WriteByte(charset[v])
	}
	Wipe(five)
	return out.String()
}

func polymod(values []byte) uint32 {
	generator := [5]uint32{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3}
	sum := uint32(1)
	for _, v := range values {
		top := sum >> 25
		sum = sum&0x1ffffff<<5 ^ uint32(v)
		for i, g := range generator {
			if top>>i&1 == 1 {
				sum ^= g
			}
		}
	}
	return sum
}
