package pathpattern

import (
	"net/url"
	"path"
	"runtime"
	"strings"
	"unique"
)

// A Pattern is a compiled pattern of Caddy's path matcher. It matches the paths that Caddy's matcher
// matches, but it does not clean a path: callers match each reading of the path instead, and a reading
// needs no cleaning. A Pattern is immutable.
type Pattern struct {
	id       unique.Handle[identity]
	kind     kind
	exactly  bool       // slashes at the end of a path count, and so does what is behind a script
	unmerged bool       // it has several slashes in a row, so it is matched against paths that have them
	text     string     // in lower case; without the wildcards of a prefix, suffix or contained text
	segments [][]string // if kind is segmented: the texts between the wildcards of each segment
	escaped  bool       // it has an encoded character, so it says how %2f is read
	script   bool       // its last segment is a script; servers take what is behind that as PATH_INFO
}

// An identity is what two patterns have in common if they match the same paths.
type identity struct {
	text    string
	exactly bool
}

// An ID identifies a pattern: patterns with one ID match the same paths.
type ID = unique.Handle[identity]

// ID returns the ID of p.
func (p *Pattern) ID() ID { return p.id }

// Quick reports whether matching p is as fast as looking up an earlier result.
func (p *Pattern) Quick() bool { return p.kind <= suffix && !p.script && !p.escaped }

type kind uint8

const (
	all kind = iota
	exact
	prefix
	suffix
	contained
	segmented // wildcards do not match slashes
	special   // segmented, with ?, [ or \
)

// Matcher compiles a pattern of a path matcher. Unlike an endpoint, it does not ignore slashes at the
// end, nor what is behind a script. ok is false if only Caddy can match the pattern, such as one with
// placeholders. If the pattern has an encoded character, Matcher compiles it as that of an endpoint,
// which matches more paths; ok is false then unless wider is true.
func Matcher(pattern string, wider bool) (p Pattern, ok bool) {
	switch {
	case strings.Contains(pattern, "{"), runtime.GOOS == "windows": // Windows has other paths
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

// Compile compiles the pattern of an endpoint. Check must accept the pattern.
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

// decode decodes the encoded characters of a pattern in lower case. It keeps %2f, because the readings
// of a path also have %2f where a server keeps it. It turns %* into *.
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

// A Text is a path as one server reads it, in lower case and decoded. Merged is the path with one slash
// in place of several in a row. Escaped is the path with %2f for each encoded slash, also if the server
// decodes it.
type Text interface {
	Path() string
	Merged() string
	Escaped() string
}

// Match reports whether p matches a path. Unless Matcher has compiled p, Match ignores slashes at the
// end of the path, and what is behind a script.
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

// matchBefore reports whether p matches the part of s before some slash.
func (p *Pattern) matchBefore(s string) bool {
	switch p.kind {
	case exact:
		return strings.HasPrefix(s, p.text) && strings.HasPrefix(s[len(p.text):], "/")
	case suffix:
		return strings.Contains(s, p.text+"/")
	}
	// The wildcards match no slash, so that part has as many slashes as p.
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

// matchSegments reports whether the segments of s match segments, one by one.
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

// matchChunks reports whether s consists of chunks, in order, with any text between them.
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

// isScript reports whether a pattern in lower case ends with the name of a script. Servers let a script
// answer for paths that go on behind its name: /login.php/x is /login.php with the PATH_INFO /x.
func isScript(pattern string) bool {
	switch path.Ext(pattern) {
	case ".php", ".php3", ".php4", ".php5", ".php7", ".php8", ".phtml", ".phar", ".cgi", ".fcgi", ".pl", ".py", ".rb", ".lua",
		".asp", ".aspx", ".ashx", ".cfm", ".cfc":
		return true
	}
	return false
}
