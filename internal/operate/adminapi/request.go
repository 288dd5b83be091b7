package adminapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/internal/text/spelling"
	"github.com/fleetlimit/fleetlimit/internal/text/strictjson"
)

// The longest bodies of requests in bytes.
const (
	maxBody      = 64 << 10
	maxKeysBody  = 4 << 20 // bodies with many keys
	maxRulesBody = 8 << 20 // bodies with all rules
)

const (
	mediaJSON       = "application/json"
	mediaMergePatch = "application/merge-patch+json"
	mediaYAML       = "application/yaml"
)

// runningOf returns the running configuration. It returns an error if there is none: Caddy's admin
// endpoint answers before a configuration runs.
func runningOf(p *Process) (*Running, error) {
	if c := p.Running(); c != nil {
		return c, nil
	}
	if p.Starting() {
		return nil, apiError(http.StatusServiceUnavailable, "the configuration is not running yet: try again in a moment")
	}
	return nil, apiError(http.StatusNotFound, "the running configuration limits nothing: use one with rate_limit")
}

// zoneOf returns the name of the zone in the path of r. It refuses an endpoint that the zone does
// not have.
func zoneOf(c *Running, r *http.Request, endpoint string) (zone string, err error) {
	zone = r.PathValue("zone")
	if err := knownZone(c.Schema().Zones(), zone, http.StatusNotFound); err != nil {
		return "", err
	}
	switch names := c.Schema().Endpoints(zone); {
	case endpoint == "", slices.Contains(names, endpoint):
	case len(names) == 0:
		return "", apiError(http.StatusBadRequest, "endpoint: there is no endpoint %q, as zone %q has none: use no endpoint",
			endpoint, zone)
	default:
		return "", apiError(http.StatusBadRequest, "endpoint: there is no endpoint %q: use one of %q", endpoint, names)
	}
	return zone, nil
}

// knownZone returns an error with a status unless a zone is among names.
func knownZone(names []string, zone string, status int) error {
	if slices.Contains(names, zone) {
		return nil
	}
	if nearest := spelling.Nearest(zone, names); nearest != "" {
		names = []string{nearest}
	}
	return apiError(status, "there is no zone %q: use one of %q", zone, names)
}

// readBody returns the body of a request, of at most most bytes, and its media type, which must be
// one of types. A page of another origin can send these types only if Caddy's admin endpoint allows
// it.
func readBody(w http.ResponseWriter, r *http.Request, most int64, types ...string) (body []byte, mediaType string, err error) {
	mediaType, _, err = mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || !slices.Contains(types, mediaType) {
		return nil, "", apiError(http.StatusUnsupportedMediaType, "the content type is %q: use Content-Type: %s",
			r.Header.Get("Content-Type"), strings.Join(types, ", or "))
	}
	body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return nil, "", apiError(http.StatusRequestEntityTooLarge, "the body is too long: use at most %d bytes", most)
	case err != nil:
		return nil, "", apiError(http.StatusBadRequest, "reading the body: %w: use a complete request", err)
	}
	return body, mediaType, nil
}

// readJSON reads the body of a request, which must be one JSON object of at most most bytes with no
// other members than those of v, into v. Errors show example.
func readJSON(w http.ResponseWriter, r *http.Request, most int64, v any, example string) error {
	body, _, err := readBody(w, r, most, mediaJSON)
	if err != nil {
		return err
	}
	return badBody(strictjson.Unmarshal(body, v), example)
}

// badBody returns err, which a body causes, as an error that Caddy answers with 400.
func badBody(err error, example string) error {
	if err == nil {
		return nil
	}
	return apiError(http.StatusBadRequest, "the body is not what is expected: %w. An example is %s", err, example)
}

// readObject reads a body that is one JSON object.
func readObject(w http.ResponseWriter, r *http.Request, example string, types ...string) (map[string]any, error) {
	body, _, err := readBody(w, r, maxBody, types...)
	if err != nil {
		return nil, err
	}
	value, err := strictjson.Decode(body)
	if err != nil {
		return nil, badBody(err, example)
	}
	object, isObject := value.(map[string]any)
	if !isObject {
		return nil, badBody(errors.New("it is not an object: use one"), example)
	}
	return object, nil
}

// takeExpiry replaces the member expires_in of an entry, which is a duration such as "15m", by
// expires_at.
func takeExpiry(object map[string]any, now time.Time) error {
	in, found := object["expires_in"]
	if !found {
		return nil
	}
	delete(object, "expires_in")
	text, isText := in.(string)
	_, both := object["expires_at"]
	switch {
	case both:
		return errors.New("there are both expires_in and expires_at: use one of them")
	case !isText:
		return errors.New(`expires_in: it is not a string: use a duration such as "15m"`)
	}
	d, err := caddy.ParseDuration(text)
	switch {
	case err != nil:
		return fmt.Errorf("expires_in: %q is not a duration: use one such as 15m", text)
	case d <= 0:
		return fmt.Errorf("expires_in: %s is over already: use a duration such as 15m", text)
	}
	object["expires_at"] = now.Add(d).UTC().Truncate(time.Millisecond).Format(time.RFC3339Nano)
	return nil
}

// WithUser returns a copy of r whose client is a user that somebody has authenticated.
func WithUser(r *http.Request, user string) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), userKey{}, user))
}

type userKey struct{}

// clientOf returns who sent a request to the admin API: the subject of the client's certificate at
// Caddy's remote admin endpoint, the user in a site, or else the client's address. verified says
// that client is a subject or a user.
func clientOf(r *http.Request) (client string, verified bool) {
	if user, _ := r.Context().Value(userKey{}).(string); user != "" {
		return user, true
	}
	if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		certificate := r.TLS.PeerCertificates[0]
		if subject := certificate.Subject.String(); subject != "" {
			return subject, true
		}
		return "certificate " + certificate.SerialNumber.String(), true
	}
	return r.RemoteAddr, false
}

// maxAuthor is the most bytes of an author.
const maxAuthor = 200

// authorOf returns who changes something, for the history: the author that the query names, or else
// the client. Anybody can name any author, so the subject of a certificate comes first.
func authorOf(r *http.Request) (string, error) {
	client, verified := clientOf(r)
	author := strings.TrimSpace(r.URL.Query().Get("author"))
	switch {
	case len(author) > maxAuthor:
		return "", apiError(http.StatusBadRequest, "the author has %d bytes: use at most %d", len(author), maxAuthor)
	case strings.ContainsFunc(author, func(c rune) bool { return c == utf8.RuneError || !unicode.IsPrint(c) }):
		return "", apiError(http.StatusBadRequest, "the author is %q: use a text without control characters", author)
	case author == "":
		return client, nil
	case verified:
		return client + " for " + author, nil
	}
	return author, nil
}

// queryInt returns a number of the query, at least least, or fallback if the query does not have
// it.
func queryInt(r *http.Request, name string, fallback, least int64) (int64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return fallback, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least {
		return 0, apiError(http.StatusBadRequest, "%s is %q: use a number from %d", name, text, least)
	}
	return n, nil
}

// queryBool returns a truth value of the query.
func queryBool(r *http.Request, name string) (bool, error) {
	switch text := r.URL.Query().Get(name); text {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	default:
		return false, apiError(http.StatusBadRequest, "%s is %q: use true or false", name, text)
	}
}
