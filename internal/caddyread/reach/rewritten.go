package reach

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/fileserver"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/rewrite"
)

// A Rewritten is a path that a request may have when it comes to a handler.
type Rewritten struct {
	URL url.URL // its path
	By  string  // the directive that has rewritten the path; "" if the client has sent it

	files []string // files that the preceding file matcher may find
}

// mostRewritten is the highest number of paths that follow keeps after a step.
const mostRewritten = 64

// Rewrite returns the paths that a request may have at the handler of w, if a client sends it with this
// method and path. Matchers of other properties of the request may match or not, so Rewrite follows
// both cases.
func (w *Way) Rewrite(method string, sent *url.URL) []Rewritten {
	return follow(w.steps, method, []Rewritten{{URL: *sent}})
}

// Words returns texts in w on which the path depends: prefixes and suffixes that are removed, texts
// that are replaced, and patterns of paths.
func (w *Way) Words() []string { return appendWords(nil, w.steps) }

func appendWords(words []string, steps []wayStep) []string {
	add := func(word string) {
		if word != "" && !strings.Contains(word, "{") && !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	for _, s := range steps {
		if r := s.rewrite; r != nil {
			add(r.StripPathPrefix)
			add(r.StripPathSuffix)
			for _, replacement := range r.URISubstring {
				add(replacement.Find)
			}
		}
		for _, set := range s.matchers {
			for _, m := range set {
				if paths, is := m.(*caddyhttp.MatchPath); is {
					for _, p := range *paths {
						add(strings.ReplaceAll(p, "*", "x"))
					}
				}
			}
		}
		words = appendWords(words, s.inside)
	}
	return words
}

// follow returns the paths that steps may make of paths.
func follow(steps []wayStep, method string, paths []Rewritten) []Rewritten {
	for _, s := range steps {
		var after []Rewritten
		for _, p := range paths {
			for _, q := range s.follow(method, p) {
				same := func(other Rewritten) bool { return other.URL == q.URL && slices.Equal(other.files, q.files) }
				if len(after) < mostRewritten && !slices.ContainsFunc(after, same) {
					after = append(after, q)
				}
			}
		}
		paths = after
	}
	return paths
}

func (s *wayStep) follow(method string, p Rewritten) (paths []Rewritten) {
	if s.rewrite != nil {
		return rewritten(s.rewrite, method, p)
	}
	matches := mayMatchAny(s.matchers, newRequest(method, p.URL))
	if matches == no {
		if s.around {
			return nil
		}
		return []Rewritten{p}
	}
	inside := p
	for _, set := range s.matchers {
		for _, m := range set {
			if files, is := m.(*fileserver.MatchFile); is {
				inside.files = files.TryFiles
			}
		}
	}
	if s.around {
		return []Rewritten{inside}
	}
	if paths = follow(s.inside, method, []Rewritten{inside}); matches == maybe {
		paths = append(paths, p)
	}
	for i := range paths {
		paths[i].files = p.files
	}
	return paths
}

// rewritten returns the paths that a handler may make of a path. If the handler uses the result of a
// file matcher, that result may be any of the files that the matcher tries.
func rewritten(h *rewrite.Rewrite, method string, p Rewritten) (paths []Rewritten) {
	const found = "{http.matchers.file."
	files := []string{""}
	if strings.Contains(h.URI, found) && len(p.files) > 0 {
		files = p.files
	}
	for _, file := range files {
		if strings.HasPrefix(file, "=") {
			continue // a status
		}
		r := newRequest(method, p.URL)
		repl := r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer)
		repl.Set("http.matchers.file.relative", "/"+strings.TrimLeft(repl.ReplaceAll(file, ""), "/"))
		h.Rewrite(r, repl)
		q := Rewritten{URL: url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath}, By: p.By, files: p.files}
		if q.URL != p.URL {
			q.By = rewriter(h)
		}
		paths = append(paths, q)
	}
	return paths
}

// rewriter returns the names of the directives that make a handler such as h.
func rewriter(h *rewrite.Rewrite) string {
	switch {
	case strings.Contains(h.URI, "{http.matchers.file."):
		return "try_files or php_fastcgi"
	case h.URI != "":
		return "rewrite"
	case h.StripPathPrefix != "":
		return "handle_path or uri strip_prefix"
	}
	return "uri"
}

// newRequest returns a request with a path, in the form in which handlers of Caddy get it.
func newRequest(method string, path url.URL) *http.Request {
	r := &http.Request{Method: method, URL: &path, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: make(http.Header)}
	r.RequestURI = path.RequestURI()
	return caddyhttp.PrepareRequest(r.WithContext(context.Background()), caddy.NewReplacer(), nil, new(caddyhttp.Server))
}

// A certainty says whether matchers match.
type certainty int

const (
	no certainty = iota
	maybe
	yes
)

// mayMatchAny reports whether any of sets matches r. Only the method and the path of r are known.
func mayMatchAny(sets caddyhttp.MatcherSets, r *http.Request) certainty {
	if len(sets) == 0 {
		return yes
	}
	any := no
	for _, set := range sets {
		all := yes
		for _, m := range set {
			all = min(all, mayMatch(m, r))
		}
		any = max(any, all)
	}
	return any
}

func mayMatch(m any, r *http.Request) certainty {
	switch m := m.(type) {
	case *caddyhttp.MatchNot:
		if len(m.MatcherSets) == 0 {
			return yes
		}
		return yes - mayMatchAny(m.MatcherSets, r)
	case *caddyhttp.MatchPath, *caddyhttp.MatchPathRE, *caddyhttp.MatchMethod:
		if matches, err := m.(caddyhttp.RequestMatcherWithError).MatchWithError(r); err == nil && !matches {
			return no
		} else if err == nil {
			return yes
		}
	}
	return maybe
}
