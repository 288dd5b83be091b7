package pathpattern

import (
	"net/url"
	"path"
	"runtime"
	"strings"
	"unique"
)

// A Pattern is a pattern of Caddy's path matcher, compiled. It matches what that does, except that
// it does not clean paths: a path has readings instead, in which it needs no cleaning. It is
// immutable.
type Pattern struct {
	id       unique.Handle[identity]
	kind     kind
	exactly  bool       // it ignores neither slashes at the end nor what is behind a script
	unmerged bool       // it has several slashes in a row, so it matches paths that do
	text     string     // in lower case; of a prefix, suffix or part without its wildcards
	segments [][]string // of a segmented pattern: what is between the wildcards of each segment
	escaped  bool       // it writes an encoded character, so it says how %2f is read
	script   bool       // its last segment is a script, behind which servers take PATH_INFO
}

// An identity is what patterns have in common that match the same.
type identity struct {
	text    string
	exactly bool
}

// An ID is equal for patterns that match the same, as they were written alike.
type ID = unique.Handle[identity]

// ID returns the ID of p.
func (p *Pattern) ID() ID { return p.id }

// Quick reports whether p needs no more time than to look up an answer.
func (p *Pattern) Quick() bool { return p.kind <= suffix && !p.script && !p.escaped }

type kind uint8

const (
	all kind = iota
	exact
	prefix
	suffix
	contained
	segmented // wildcards match no slash
	special   // the same with ?, [ and \
)

// Matcher compiles a pattern of a path matcher, which ignores less than an endpoint does. If it writes
// an encoded character and may be wider, it is one of an endpoint. ok is false for patterns that only
// Caddy can match, such as those with placeholders.
func Matcher(pattern string, wider bool) (p Pattern, ok bool) {
	switch {
	case strings.Contains(pattern, "{"), runtime.GOOS == "windows": // which has other paths
		return p, false
	case strings.Contains(pattern, "%"):
		return Compile(pattern), wider && !strings.Contains(pattern, "%*")
	}
	p = Compile(pattern)
	p.exactly, p.script = true, false
	p.id = unique.Make(identity{strings.ToLower(pattern), true})
	p.unmerged = strings.Contains(pattern, "//")
	return p, true
}

// Compile compiles a pattern that Check accepts.
func Compile(pattern string) Pattern {
	p := Pattern{text: strings.ToLower(pattern), escaped: strings.Contains(pattern, "%")}
	p.id = unique.Make(identity{text: p.text})
	if p.escaped {
		p.text = decode(p.text)
	}
	p.script = isScript(p.text)
	starts, ends, stars := strings.HasPrefix(p.text, "*"), strings.HasSuffix(p.text, "*"), strings.Count(p.text, "*")
	switch {
	case p.text == "*":
		p.kind = all
	case !p.escaped && stars == 2 && starts && ends:
		p.kind, p.text = contained, p.text[1:len(p.text)-1]
	case !p.escaped && stars == 1 && starts:
		p.kind, p.text = suffix, p.text[1:]
	case !p.escaped && stars == 1 && ends:
		p.kind, p.text = prefix, p.text[:len(p.text)-1]
	case strings.ContainsAny(p.text, `?[\`):
		p.kind = special
	case stars > 0:
		p.kind = segmented
		for segment := range strings.SplitSeq(p.text, "/") {
			p.segments = append(p.segments, strings.Split(segment, "*"))
		}
	default:
		p.kind = exact
	}
	return p
}

// decode decodes the encoded characters of a pattern in lower case. %2f stays, because the readings
// of a path have it where a server keeps it. %* is a *.
func decode(pattern string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(pattern, '%')
		if i < 0 {
			return strings.ToLower(b.String() + pattern)
		}
		b.WriteString(pattern[:i])
		pattern = pattern[i:]
		if strings.HasPrefix(pattern, "%*") {
			pattern = pattern[1:]
			continue
		}
		n := min(3, len(pattern))
		switch c, err := url.PathUnescape(pattern[:n]); {
		case err != nil, c == "/":
			b.WriteString(pattern[:n])
		case strings.ContainsAny(c, `*?[\`):
			b.WriteString(`\` + c)
		default:
			b.WriteString(c)
		}
		pattern = pattern[n:]
	}
}

// A Text is a path as a server reads it, in lower case and decoded. Merged has one slash for several
// in a row. Escaped has %2f for each encoded slash, whatever the server makes of it.
type Text interface {
	Path() string
	Merged() string
	Escaped() string
}

// Match reports whether p matches a path. Unless it is of a path matcher, it ignores slashes at its
// end, and what is behind a script.
func (p *Pattern) Match(t Text) bool {
	switch {
	case p.exactly && !p.unmerged:
		return p.match(t.Merged())
	case p.exactly:
		return p.match(t.Path())
	case p.escaped:
		return p.matchOrBare(t.Escaped())
	}
	return p.matchOrBare(t.Path())
}

func (p *Pattern) matchOrBare(path string) bool {
	if p.match(path) {
		return true
	}
	if bare := strings.TrimRight(path, "/"); bare != path && bare != "" && p.match(bare) {
		return true
	}
	return p.script && p.matchBefore(path)
}

func (p *Pattern) match(s string) bool {
	switch p.kind {
	case all:
		return true
	case exact:
		return s == p.text
	case prefix:
		return strings.HasPrefix(s, p.text)
	case suffix:
		return strings.HasSuffix(s, p.text)
	case contained:
		return strings.Contains(s, p.text)
	case segmented:
		return matchSegments(p.segments, s)
	}
	matches, _ := path.Match(p.text, s)
	return matches
}

// matchBefore reports whether p matches what is before one of the slashes of s.
func (p *Pattern) matchBefore(s string) bool {
	switch p.kind {
	case exact:
		return strings.HasPrefix(s, p.text) && strings.HasPrefix(s[len(p.text):], "/")
	case suffix:
		return strings.Contains(s, p.text+"/")
	}
	// The wildcards match no slash, so s must have as many before.
	n := 0
	for range strings.Count(p.text, "/") + 1 {
		i := strings.IndexByte(s[n:], '/')
		if i < 0 {
			return false
		}
		n += i + 1
	}
	return p.match(s[:n-1])
}

// matchSegments reports whether a path has these segments.
func matchSegments(segments [][]string, s string) bool {
	for i, chunks := range segments {
		segment, rest, found := strings.Cut(s, "/")
		if found != (i < len(segments)-1) || !matchChunks(chunks, segment) {
			return false
		}
		s = rest
	}
	return true
}

// matchChunks reports whether s is chunks with any text between each two of them.
func matchChunks(chunks []string, s string) bool {
	last := len(chunks) - 1
	if last == 0 {
		return s == chunks[0]
	}
	if len(s) < len(chunks[0])+len(chunks[last]) || !strings.HasPrefix(s, chunks[0]) || !strings.HasSuffix(s, chunks[last]) {
		return false
	}
	s = s[len(chunks[0]) : len(s)-len(chunks[last])]
	for _, chunk := range chunks[1:last] {
		i := strings.Index(s, chunk)
		if i < 0 {
			return false
		}
		s = s[i+len(chunk):]
	}
	return true
}

// isScript reports whether a pattern in lower case ends in the name of a script. Servers take a path
// that goes on behind it for the same script: /login.php/x is /login.php with the PATH_INFO /x.
func isScript(pattern string) bool {
	switch path.Ext(pattern) {
	case ".php", ".php3", ".php4", ".php5", ".php7", ".php8", ".phtml", ".phar", ".cgi", ".fcgi", ".pl", ".py", ".rb", ".lua",
		".asp", ".aspx", ".ashx", ".cfm", ".cfc":
		return true
	}
	return false
}
