package policy

import (
	"net/url"
	"slices"
	"strings"
)

// layer is a reading of a payload: what it says when it is decoded in one way, and for each byte which bytes
// of the payload it comes from.
type layer struct {
	text     []byte
	from, to []int32 // of each byte of text; -1 for bytes that an earlier call sent
}

func rawLayer(payload string) layer {
	l := layer{text: []byte(payload), from: make([]int32, len(payload)), to: make([]int32, len(payload))}
	for i := range payload {
		l.from[i], l.to[i] = int32(i), int32(i+1) //nolint:gosec // payloads are bounded by maxPayload
	}
	for i := 1; i < len(payload); i++ { // the bytes range skipped are within a character
		if l.to[i] == 0 {
			l.from[i], l.to[i] = int32(i), int32(i+1) //nolint:gosec // as above
		}
	}
	return l
}

func (l layer) len() int { return len(l.text) }

// slice returns the bytes i to j of l.
func (l layer) slice(i, j int) layer {
	return layer{text: l.text[i:j], from: l.from[i:j], to: l.to[i:j]}
}

// push appends bytes that stand for the bytes i to j of src.
func (l *layer) push(src layer, i, j int, bytes ...byte) {
	from, to := src.span(i, j)
	for _, b := range bytes {
		l.text, l.from, l.to = append(l.text, b), append(l.from, from), append(l.to, to)
	}
}

// append appends the bytes of another layer.
func (l *layer) append(o layer) {
	l.text, l.from, l.to = append(l.text, o.text...), append(l.from, o.from...), append(l.to, o.to...)
}

// span returns the part of the payload that bytes i to j come from; -1 when all of them come from elsewhere.
func (l layer) span(i, j int) (from, to int32) {
	from, to = -1, -1
	for k := i; k < j; k++ {
		if l.from[k] < 0 {
			continue
		}
		if from < 0 || l.from[k] < from {
			from = l.from[k]
		}
		to = max(to, l.to[k])
	}
	return from, to
}

// squeezed returns l without anything but letters, digits and the given signs.
func (l layer) squeezed(signs string) layer {
	var out layer
	for i, c := range l.text {
		if isAlnum(c) || c >= 0x80 || strings.IndexByte(signs, c) >= 0 {
			out.push(l, i, i+1, c)
		}
	}
	return out
}

// parts takes a URL apart into what a sender may choose: the user, the names below the domain, path and query; and what these
// are when they are joined in the ways a receiver may join them. ok is false for what is no URL.
func (l layer) parts() (pieces, joined []layer, ok bool) {
	text := string(l.text)
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || strings.ContainsAny(text, " \n") {
		return nil, nil, false
	}
	begin := strings.Index(text, "//") + len("//")
	rest := begin + strings.IndexAny(text[begin:]+"/", "/?#")
	host := text[begin:rest]
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		pieces = append(pieces, l.slice(begin, begin+at))
		begin, host = begin+at+1, host[at+1:]
	}
	names := l.names(begin, host)
	if n := len(names); n > 0 {
		pieces = append(pieces, l.slice(begin, begin+len(host)-len(site(host))))
		along, against := layer{}, layer{}
		for i := range names {
			along.append(names[i])
			against.append(names[n-1-i])
		}
		joined = append(joined, along, against)
	}
	query := rest + strings.IndexAny(text[rest:]+"?", "?#")
	pieces = append(pieces, l.slice(rest, query))
	if query < l.len() {
		pieces = append(pieces, l.slice(query, l.len()))
		inOrder, byName := l.values(query)
		joined = append(joined, inOrder, byName)
	}
	return pieces, joined, true
}

// names returns the names below the domain of a host that begins at a place.
func (l layer) names(begin int, host string) []layer {
	labels := strings.Split(host, ".")
	var out []layer
	for i := 0; i < len(labels)-2; i++ {
		out = append(out, l.slice(begin, begin+len(labels[i])))
		begin += len(labels[i]) + 1
	}
	return out
}

// chosen returns the part of a URL in which a text sent in pieces would stand: the values of the query, or else the end of
// the path, or else the names below the domain.
func (l layer) chosen() layer {
	pieces, joined, ok := l.parts()
	if !ok {
		return l
	}
	if last := pieces[len(pieces)-1]; last.len() > 0 && (last.text[0] == '?' || last.text[0] == '#') {
		return joined[len(joined)-2]
	}
	for _, p := range slices.Backward(pieces) {
		text := strings.TrimRight(string(p.text), "/.")
		if i := strings.LastIndexByte(text, '/'); i+1 < len(text) {
			return p.slice(i+1, len(text))
		}
	}
	return layer{}
}

// values returns the values of a query from place at on, joined in their order and in the order of their names.
func (l layer) values(at int) (inOrder, byName layer) {
	type pair struct {
		name  string
		value layer
	}
	var pairs []pair
	for start := at + 1; start <= l.len(); {
		stop := start
		for stop < l.len() && strings.IndexByte("&;#?", l.text[stop]) < 0 {
			stop++
		}
		name, _, found := strings.Cut(string(l.text[start:stop]), "=")
		if found {
			pairs = append(pairs, pair{name, l.slice(start+len(name)+1, stop)})
		} else {
			pairs = append(pairs, pair{"", l.slice(start, stop)})
		}
		start = stop + 1
	}
	for _, p := range pairs {
		inOrder.append(p.value)
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return naturally(a.name, b.name) })
	for _, p := range pairs {
		byName.append(p.value)
	}
	return inOrder, byName
}

// naturally compares names as people number them: p2 before p10.
func naturally(a, b string) int {
	if len(a) != len(b) && strings.TrimRight(a, "0123456789") == strings.TrimRight(b, "0123456789") {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}
