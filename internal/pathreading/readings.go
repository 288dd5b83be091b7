package pathreading

import (
	"bytes"
	"net/url"
	"strings"
)

// Tokens are the bytes of a decoded path, in which two bytes stand for what was encoded. They are
// control characters, which no path with several readings has.
const (
	encodedSlash     = 1
	encodedSemicolon = 2
)

// tokenize decodes an escaped path.
func tokenize(escaped string) []byte {
	tokens := make([]byte, 0, len(escaped))
	for i := 0; i < len(escaped); i++ {
		c, ok := escapeAt(escaped, i)
		switch {
		case !ok:
			c = escaped[i]
		case c == '/':
			c = encodedSlash
		case c == ';':
			c = encodedSemicolon
		}
		if ok {
			i += 2
		}
		tokens = append(tokens, c)
	}
	return tokens
}

// A part is a token that servers read differently, and the text behind it that they read alike. Of
// the slashes, those are parts that follow another, and the first behind a semicolon.
type part struct {
	mark byte // 0: none, at the start
	text []byte
}

// splitParts returns the parts of tokens, or nil if there are too many.
func splitParts(tokens []byte) (parts []part) {
	mark, start, parameter := byte(0), 0, false
	for i, t := range tokens {
		switch t {
		case encodedSlash:
		case ';', encodedSemicolon:
			parameter = true
		case '/':
			if !parameter && (i == 0 || tokens[i-1] != '/' && tokens[i-1] != encodedSlash) {
				continue
			}
			parameter = false
		default:
			continue
		}
		parts = append(parts, part{mark, tokens[start:i]})
		if len(parts) > maxParts {
			return nil
		}
		mark, start = t, i+1
	}
	return append(parts, part{mark, tokens[start:]})
}

// An authority is what a server takes for a host, as in a URL, and so for no part of the path.
type authority uint8

const (
	noAuthority      authority = iota
	behindSlashes              // what is behind all slashes at the front, up to the next
	upToRawSlash               // the same, up to the next before anything is decoded
	behindTwoSlashes           // the same behind two; if there are more, it is empty
)

// remove returns tokens without the authority. It ends at an encoded slash, too, if that is a slash,
// unless it is found before anything is decoded.
func (a authority) remove(tokens []byte, slash bool) []byte {
	switch a {
	case noAuthority:
		return tokens
	case behindTwoSlashes:
		return tokens[2:]
	}
	rest := bytes.TrimLeft(tokens, "/")
	for i, t := range rest {
		if isSlash(t, slash && a == behindSlashes) {
			return rest[i:]
		}
	}
	return []byte("/")
}

// in reports whether a server may find a in a path.
func (a authority) in(tokens []byte) bool {
	switch a {
	case behindSlashes, upToRawSlash:
		return bytes.HasPrefix(tokens, []byte("//"))
	case behindTwoSlashes:
		return bytes.HasPrefix(tokens, []byte("///"))
	}
	return true
}

// isSlash reports whether a token is a slash to a server that decodes them, or not.
func isSlash(t byte, decodes bool) bool { return t == '/' || decodes && t == encodedSlash }

// A cut is what a server removes from segments.
type cut uint8

const (
	cutNothing cut = iota
	cutRaw         // from a semicolon to the next slash, before it decodes
	cutDecoded     // the same after it has decoded
)

// A Reading is one way to read a path.
type Reading struct {
	path  string // in lower case, decoded
	parts []part // of the path; nil: there is one reading
	variant
}

// A variant is how a server comes to its reading.
type variant struct {
	authority authority
	cut       cut
	slash     bool // an encoded slash is a slash; else it is the characters %2f
	merge     bool // several slashes in a row are one
}

// readings returns the distinct readings of tokens.
func readings(tokens []byte) (all []Reading, _ error) {
	encoded := bytes.IndexByte(tokens, encodedSlash) >= 0
	scratch := make([]byte, 0, 3*len(tokens))
	for _, a := range [...]authority{noAuthority, behindSlashes, upToRawSlash, behindTwoSlashes} {
		for _, slash := range [...]bool{true, false} {
			if !a.in(tokens) || !slash && !encoded {
				continue
			}
			parts := splitParts(a.remove(tokens, slash))
			if parts == nil {
				return nil, ErrTooMany
			}
			for _, c := range [...]cut{cutNothing, cutRaw, cutDecoded} {
				r := Reading{parts: parts, variant: variant{authority: a, cut: c, slash: slash}}
				var double bool
				if scratch, double = r.build(scratch[:0], r.encoded()); !contains(all, scratch) {
					r.path = string(scratch)
					all = append(all, r)
				}
				if r.merge = double; double {
					if scratch, _ = r.build(scratch[:0], r.encoded()); !contains(all, scratch) {
						r.path = string(scratch)
						all = append(all, r)
					}
				}
				if len(all) > Most {
					return nil, ErrTooMany
				}
			}
		}
	}
	return all, nil
}

// contains reports whether one of the readings has a path.
func contains(all []Reading, path []byte) bool {
	for i := range all {
		if all[i].path == string(path) {
			return true
		}
	}
	return false
}

// encoded returns what an encoded slash is to the server.
func (r *Reading) encoded() string {
	if r.slash {
		return "/"
	}
	return "%2f"
}

// build appends the path of r, with encoded for each encoded slash. double reports whether two
// slashes are in a row.
func (r *Reading) build(b []byte, encoded string) (_ []byte, double bool) {
	inside, after := false, false // a parameter that is cut, a slash
	for i := range r.parts {
		p := &r.parts[i]
		slash := false
		switch p.mark {
		case '/':
			inside, slash = false, true
		case encodedSlash:
			slash = r.slash
			inside = inside && !(r.cut == cutDecoded && slash)
		case ';':
			inside = inside || r.cut != cutNothing
		case encodedSemicolon:
			inside = inside || r.cut == cutDecoded
		}
		if inside {
			continue
		}
		if slash && after {
			double = true
		}
		switch {
		case slash && after && r.merge:
		case p.mark == encodedSlash:
			b = append(b, encoded...)
		case p.mark == '/':
			b = append(b, '/')
		case p.mark != 0:
			b = append(b, ';')
		}
		b = append(b, p.text...)
		if n := len(p.text); n > 0 {
			after = p.text[n-1] == '/'
		} else {
			after = slash || after && p.mark == 0
		}
	}
	return b, double
}

// Path returns what the server reads, in lower case and decoded. An encoded slash that it keeps is
// %2f.
func (r *Reading) Path() string { return r.path }

// Escaped returns the path of r with %2f for each encoded slash, whatever the server makes of it.
func (r *Reading) Escaped() string {
	if !r.slash || r.parts == nil {
		return r.path
	}
	b, _ := r.build(nil, "%2f")
	return string(b)
}

// Put makes a reading of p, which has several, the path of u. The case is that of the request.
func (p *Path) Put(r *Reading, u *url.URL) {
	whole := Reading{parts: splitParts(r.authority.remove(tokenize(p.escaped), r.slash)), variant: r.variant}
	path, _ := whole.build(nil, r.encoded())
	u.Path, u.RawPath = string(path), ""
	if r.slash {
		path, _ = whole.build(path[:0], "\x01")
		pieces := strings.Split(string(path), "\x01")
		for i, piece := range pieces {
			pieces[i] = (&url.URL{Path: piece}).EscapedPath()
		}
		u.RawPath = strings.Join(pieces, "%2F")
	}
}
