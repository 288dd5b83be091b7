package attack

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// An upstream counts the requests of each client. It reads a request as the most lenient servers do, and as
// several of them at once. So one request may count for several clients.
type upstream struct {
	mu   sync.Mutex
	seen map[string]int
	read func(r *http.Request) []string
}

func newUpstream(read func(r *http.Request) []string) *upstream {
	return &upstream{seen: make(map[string]int), read: read}
}

func (u *upstream) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	clients := make(map[string]bool)
	for _, name := range u.read(r) {
		clients[name] = true
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for name := range clients {
		u.seen[name]++
	}
}

func (u *upstream) count(name string) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.seen[name]
}

// keyHeaders reads X-Api-Key in all spellings that CGI accepts, in headers and trailers.
func keyHeaders(r *http.Request) (keys []string) {
	for _, header := range []http.Header{r.Header, r.Trailer} {
		for name, values := range header {
			if strings.EqualFold(strings.NewReplacer("_", "-", ".", "-").Replace(name), "X-Api-Key") {
				for _, v := range append(values, strings.Join(values, ",")) {
					keys = append(keys, strings.TrimSpace(v))
				}
			}
		}
	}
	return keys
}

// keyParameters reads the query parameter key as all these servers do: those that split at semicolons, ignore
// case, have arrays, or stop at a fragment.
func keyParameters(r *http.Request) (keys []string) {
	whole := r.URL.RawQuery
	stopped, _, _ := strings.Cut(whole, "#")
	for _, query := range []string{whole, stopped} {
		for _, separators := range []string{"&", "&;"} {
			for _, pair := range strings.FieldsFunc(query, func(c rune) bool { return strings.ContainsRune(separators, c) }) {
				name, value, _ := strings.Cut(pair, "=")
				if strings.EqualFold(decode(name), "key") {
					keys = append(keys, decode(value))
				}
			}
		}
	}
	return keys
}

// decode returns the name or value of a parameter without the parts that servers ignore.
func decode(s string) string {
	if decoded, err := url.QueryUnescape(s); err == nil {
		s = decoded
	}
	s, _, _ = strings.Cut(s, "\x00")
	s, _, _ = strings.Cut(s, "[")
	return strings.TrimSpace(s)
}

// keyCookies reads the cookie key as all these servers do: those that split at commas and spaces, remove
// quotes, or decode.
func keyCookies(r *http.Request) (keys []string) {
	line := strings.Join(r.Header["Cookie"], ";")
	for _, separators := range []string{";", ";, \t"} {
		for _, pair := range strings.FieldsFunc(line, func(c rune) bool { return strings.ContainsRune(separators, c) }) {
			name, value, _ := strings.Cut(pair, "=")
			if strings.EqualFold(decode(strings.Trim(strings.TrimSpace(name), `"`)), "key") {
				value = strings.Trim(strings.TrimSpace(value), `"`)
				keys = append(keys, value, decode(value))
			}
		}
	}
	return keys
}
