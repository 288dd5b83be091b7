package pathreading

import (
	"bytes"
	"net/url"
	"slices"
	"strings"
)

// Tokens are the bytes of a decoded path, in which these two bytes stand for encoded characters. Both
// are control characters, which a path with several readings cannot have. A ? in tokens was encoded,
// because a path has no other ?.
const (
	encodedSlash     = 1
	encodedSemicolon = 2
)

// tokenize returns the tokens of an escaped path.
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

// A part is a mark, a token that servers read differently, and the text behind the mark that they all
// read alike. A slash is a mark if it follows another slash, or if it is the first one behind a
// semicolon. Only the first question mark is a mark.
type part struct {
	mark byte // 0 in the first part, which has no mark
	text []byte
}

// splitParts splits tokens into parts. It returns nil if there are too many.
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

// A front is what a server removes from a path before it routes: a host, as in a URL, or a script that
// answers for the whole site.
type front uint8

const (
	noFront          front = iota
	behindSlashes          // a host behind all slashes at the front, up to the next slash
	upToRawSlash           // behindSlashes for a server that finds the host before it decodes slashes
	behindTwoSlashes       // a host behind the first two of three slashes: an empty one
	script                 // the first segment that begins with the name of a script, up to the end of that name
	scriptAndSlash         // script, and the encoded slash behind the name
)

// remove returns tokens without the front. slash says that the server decodes encoded slashes. If it
// does so before it looks for a host, the host also ends at an encoded slash.
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

// isIn reports whether a server may find f in a path. slash says that the server decodes encoded
// slashes.
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

// scriptIn returns the start and the end of the name of a front controller in a path. Symfony and
// others read both /index.php/login and /index.phplogin as /login. end is 0 if there is no front
// controller.
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

// hasScript reports whether a decoded path in lower case has the name of a front controller.
func hasScript(path string) bool {
	if !strings.Contains(path, ".php") {
		return false
	}
	_, end := scriptIn(path)
	return end > 0
}

// isSlash reports whether a token is a slash for a server. decodes says that the server decodes encoded
// slashes.
func isSlash(t byte, decodes bool) bool { return t == '/' || decodes && t == encodedSlash }

// A cut is what a server removes from segments, or from the end of a path.
type cut uint8

const (
	cutNothing cut = iota
	cutRaw         // from a semicolon to the next slash, before the server decodes
	cutDecoded     // from a semicolon to the next slash, after the server has decoded
	cutToEnd       // from a semicolon to the end of the path, before the server decodes
	cutQuery       // from a question mark to the end of the path, after the server has decoded
)

// A Reading is the path as some servers read it.
type Reading struct {
	path    string // in lower case, decoded
	merged  string // path with one slash in place of several in a row
	escaped string // the result of Escaped; "" until Escaped is called
	parts   []part // of the path; nil if the path has one reading
	variant
}

// A variant is how a server reads a path.
type variant struct {
	front front
	cut   cut
	slash bool // an encoded slash is a slash; otherwise it is the text %2f
	merge bool // several slashes in a row are one slash
}

// readings returns the different readings of tokens.
func readings(tokens []byte) (all []Reading, _ error) {
	encoded := bytes.IndexByte(tokens, encodedSlash) >= 0
	room := 4 * maxLength // number of bytes that further readings may have
	scratch := make([]byte, 0, 3*len(tokens))
	// add adds a reading, unless all has one with an equal path. It returns the index of that reading
	// in all. double says that the path has double slashes.
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

// cutsIn returns the cuts that servers may make in a path that has these parts.
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

// encoded returns the text that an encoded slash is for the server.
func (r *Reading) encoded() string {
	if r.slash {
		return "/"
	}
	return "%2f"
}

// build appends the path of r to b, with encoded for each encoded slash. double says that the path has
// double slashes.
func (r *Reading) build(b []byte, encoded string) (_ []byte, double bool) {
	inside, after := false, false // in a text that is cut; behind a slash
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

// Path returns the path as the server reads it, in lower case and decoded. It has %2f for each encoded
// slash that the server keeps.
func (r *Reading) Path() string { return r.path }

// Merged returns the path with one slash in place of several in a row.
func (r *Reading) Merged() string { return r.merged }

// Escaped returns the path with %2f for each encoded slash, also if the server decodes it.
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

// Put sets the path of u to a reading of p, in the case of the request. p must have several readings.
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
