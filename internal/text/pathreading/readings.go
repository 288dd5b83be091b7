package pathreading

import (
	"bytes"
	"net/url"
	"slices"
	"strings"
)

// Tokens are the bytes of a decoded path, in which two bytes stand for what was encoded. They are
// control characters, which no path with several readings has. A ? was encoded: it is in no path else.
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
// the slashes, those are parts that follow another, and the first behind a semicolon. Of the question
// marks, the first is.
type part struct {
	mark byte // 0: none, at the start
	text []byte
}

// splitParts returns the parts of tokens, or nil if there are too many.
func splitParts(tokens []byte) (parts []part) {
	mark, start, parameter, question := byte(0), 0, false, false
	for i, t := range tokens {
		switch t {
		case encodedSlash:
		case ';', encodedSemicolon:
			parameter = true
		case '?':
			if question {
				continue
			}
			question = true
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

// A front is what a server takes for no part of the path: a host, as in a URL, or a script that
// answers for the whole site.
type front uint8

const (
	noFront          front = iota
	behindSlashes          // a host behind all slashes at the front, up to the next
	upToRawSlash           // the same, up to the next before anything is decoded
	behindTwoSlashes       // the same behind two; if there are more, it is empty
	script                 // the first segment that begins with a name in .php, up to that
	scriptAndSlash         // the same with the encoded slash behind it
)

// remove returns tokens without the front. A host ends at an encoded slash, too, if that is a slash,
// unless it is found before anything is decoded.
func (f front) remove(tokens []byte, slash bool) []byte {
	switch f {
	case noFront:
		return tokens
	case behindTwoSlashes:
		return tokens[2:]
	case script:
		start, end := scriptIn(tokens)
		return slices.Concat(tokens[:start], bytes.TrimPrefix(tokens[end:], []byte("/")))
	case scriptAndSlash:
		start, end := scriptIn(tokens)
		return slices.Concat(tokens[:start], tokens[end+1:])
	}
	rest := bytes.TrimLeft(tokens, "/")
	for i, t := range rest {
		if isSlash(t, slash && f == behindSlashes) {
			return rest[i:]
		}
	}
	return []byte("/")
}

// isIn reports whether a server that decodes slashes, or does not, may find f in a path.
func (f front) isIn(tokens []byte, slash bool) bool {
	switch f {
	case behindSlashes, upToRawSlash:
		return bytes.HasPrefix(tokens, []byte("//"))
	case behindTwoSlashes:
		return bytes.HasPrefix(tokens, []byte("///"))
	case script:
		_, end := scriptIn(tokens)
		return end > 0
	case scriptAndSlash:
		_, end := scriptIn(tokens)
		return slash && end > 0 && end < len(tokens) && tokens[end] == encodedSlash
	}
	return true
}

// scriptIn returns where a front controller is: Symfony and others take both /index.php/login and
// /index.phplogin for /login. end is 0 if there is none.
func scriptIn[T string | []byte](path T) (start, end int) {
	const extension = ".php"
	for i := 0; i+len(extension) <= len(path); i++ {
		switch {
		case path[i] == '/' || path[i] == encodedSlash:
			start = i + 1
		case path[i] == '.' && strings.EqualFold(string(path[i:i+len(extension)]), extension) && start > 0:
			end = i + len(extension)
			name, _, _ := strings.Cut(strings.ToLower(string(path[start:i])), "_") // such as app_dev
			if name == "index" || name == "app" {
				return start, end
			}
			return 0, 0
		}
	}
	return 0, 0
}

// hasScript reports whether a decoded path in lower case has a script that may be a front.
func hasScript(path string) bool {
	if !strings.Contains(path, ".php") {
		return false
	}
	_, end := scriptIn(path)
	return end > 0
}

// isSlash reports whether a token is a slash to a server that decodes them, or not.
func isSlash(t byte, decodes bool) bool { return t == '/' || decodes && t == encodedSlash }

// A cut is what a server removes from segments, or from the end.
type cut uint8

const (
	cutNothing cut = iota
	cutRaw         // from a semicolon to the next slash, before it decodes
	cutDecoded     // the same after it has decoded
	cutToEnd       // from a semicolon to the end of the path, before it decodes
	cutQuery       // from a question mark to the end, after it has decoded
)

// A Reading is one way to read a path.
type Reading struct {
	path    string // in lower case, decoded
	merged  string // the same with one slash for several in a row
	escaped string // of Escaped; "": it is not known yet
	parts   []part // of the path; nil: there is one reading
	variant
}

// A variant is how a server comes to its reading.
type variant struct {
	front front
	cut   cut
	slash bool // an encoded slash is a slash; else it is the characters %2f
	merge bool // several slashes in a row are one
}

// readings returns the distinct readings of tokens.
func readings(tokens []byte) (all []Reading, _ error) {
	encoded := bytes.IndexByte(tokens, encodedSlash) >= 0
	room := 4 * maxLength // for the texts of all
	scratch := make([]byte, 0, 3*len(tokens))
	// add adds a reading, unless there is one with its path. The path has double slashes, or has not.
	add := func(r Reading) (at int, double bool, _ error) {
		scratch, double = r.build(scratch[:0], r.encoded())
		if at = slices.IndexFunc(all, func(r Reading) bool { return r.path == string(scratch) }); at >= 0 {
			return at, double, nil
		}
		if room -= len(scratch); room < 0 || len(all) == Most {
			return 0, double, errTooMany
		}
		r.path = string(scratch)
		if r.merged = r.path; r.front >= script && scan(r.path).refused != nil {
			return 0, double, errDotSegment
		}
		all = append(all, r)
		return len(all) - 1, double, nil
	}
	for _, f := range [...]front{noFront, behindSlashes, upToRawSlash, behindTwoSlashes, script, scriptAndSlash} {
		for _, slash := range [...]bool{true, false} {
			if !f.isIn(tokens, slash) || !slash && !encoded {
				continue
			}
			parts := splitParts(f.remove(tokens, slash))
			if parts == nil {
				return nil, errTooMany
			}
			for _, c := range cutsIn(parts) {
				r := Reading{parts: parts, variant: variant{front: f, cut: c, slash: slash}}
				at, double, err := add(r)
				if r.merge = true; double && err == nil {
					var merged int
					if merged, _, err = add(r); err == nil {
						all[at].merged = all[merged].path
					}
				}
				if err != nil {
					return nil, err
				}
			}
		}
	}
	return all, nil
}

// cutsIn returns the cuts that servers may make in a path.
func cutsIn(parts []part) []cut {
	has := func(mark byte) bool { return slices.ContainsFunc(parts, func(p part) bool { return p.mark == mark }) }
	cuts := []cut{cutNothing}
	if has(';') {
		cuts = append(cuts, cutRaw, cutToEnd)
	}
	if has(';') || has(encodedSemicolon) {
		cuts = append(cuts, cutDecoded)
	}
	if has('?') {
		cuts = append(cuts, cutQuery)
	}
	return cuts
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
			inside, slash = inside && r.cut >= cutToEnd, true
		case encodedSlash:
			slash = r.slash
			inside = inside && !(r.cut == cutDecoded && slash)
		case ';':
			inside = inside || r.cut != cutNothing && r.cut != cutQuery
		case encodedSemicolon:
			inside = inside || r.cut == cutDecoded
		case '?':
			inside = inside || r.cut == cutQuery
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
		case p.mark == '?':
			b = append(b, '?')
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

// Merged returns the path with one slash for several in a row.
func (r *Reading) Merged() string { return r.merged }

// Escaped returns the path of r with %2f for each encoded slash, whatever the server makes of it.
func (r *Reading) Escaped() string {
	if !r.slash || r.parts == nil {
		return r.path
	}
	if r.escaped == "" {
		b, _ := r.build(nil, "%2f")
		r.escaped = string(b)
	}
	return r.escaped
}

// Put makes a reading of p, which has several, the path of u. The case is that of the request.
func (p *Path) Put(r *Reading, u *url.URL) {
	whole := Reading{parts: splitParts(r.front.remove(p.tokens, r.slash)), variant: r.variant}
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
