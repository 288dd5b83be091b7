package config

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/fleetlimit/fleetlimit/internal/caddyread/subdirective"
)

// refusedHeaders has the headers that reject_header cannot set, in canonical form, with the reason
// and what to use instead. Rejections have some of these headers anyway. The others are about the
// connection and the body, which Caddy writes.
var refusedHeaders = func() map[string]string {
	refused := map[string]string{
		"Retry-After":  "rate_limit writes it: use `max_retry_after` or `jitter` in rate_limit itself",
		"Content-Type": "rate_limit writes it: use `reject problem` or `reject error` in rate_limit itself",
		"Cache-Control": "rate_limit writes it: use `header >Cache-Control <value>` in the site for another value in all " +
			"responses",
		"Access-Control-Expose-Headers": "rate_limit adds to it: use `header +Access-Control-Expose-Headers <name>` in the site",
	}
	for _, name := range []string{
		"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset", "X-Ratelimit-Policy", "Ratelimit-Policy", "Ratelimit",
	} {
		refused[name] = "rate_limit writes it: use `headers` in rate_limit itself to select it, or another name"
	}
	for _, name := range []string{
		"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer",
		"Transfer-Encoding", "Upgrade", "Content-Encoding", "Content-Length", "Content-Range",
	} {
		refused[name] = "it is about the connection or the body, which Caddy writes: use another name"
	}
	return refused
}()

// CheckRejectHeader refuses a header that reject_header cannot set.
func CheckRejectHeader(name, value string) error {
	const first = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	switch plain := strings.TrimRight(strings.TrimLeft(name, "+-?>"), ":"); {
	case name != plain && plain != "":
		return fmt.Errorf("reject_header %q has a sign of other directives, and always replaces the header: use %s", name, plain)
	case strings.Trim(name, first+"!#$%&'*+-.^_`|~") != "" || name == "" || !strings.Contains(first, name[:1]):
		return fmt.Errorf("reject_header %q is not the name of a header: use letters, digits and hyphens, such as X-Support", name)
	}
	if why := refusedHeaders[http.CanonicalHeaderKey(name)]; why != "" {
		return fmt.Errorf("reject_header %s cannot be set, because %s", name, why)
	}
	switch {
	case strings.TrimSpace(value) == "":
		return fmt.Errorf("reject_header %s has no value: use a text, which may have placeholders, or no reject_header", name)
	case strings.ContainsFunc(value, isControl):
		return fmt.Errorf("reject_header %s has a line break or another control character in its value: use one line, and "+
			"reject_header once more for another value", name)
	}
	return nil
}

// isControl reports whether c must not be in the value of a header.
func isControl(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }

const rejectHeaderUsage = "reject_header <name> <value>"

// rejectHeaderLine returns a subdirective with a header of rejections. A name that is repeated has
// several values.
func rejectHeaderLine(headers *map[string][]string) subdirective.Line {
	l := subdirective.Line{Usage: rejectHeaderUsage, Min: 2, Max: subdirective.AnyNumber, Repeats: true}
	l.Parse = func(args []string) error {
		if len(args) > 2 {
			return fmt.Errorf("wrong number of arguments, because a value is one word: use `%s`, with quotes around a value "+
				"with spaces", rejectHeaderUsage)
		}
		if err := CheckRejectHeader(args[0], args[1]); err != nil {
			return err
		}
		if *headers == nil {
			*headers = make(map[string][]string)
		}
		http.Header(*headers).Add(args[0], args[1])
		return nil
	}
	return l
}
