package fleetlimit

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/adminapi"
	"github.com/fleetlimit/fleetlimit/internal/spelling"
	"github.com/fleetlimit/fleetlimit/rules"
)

const (
	maxTails        = 8    // on a node at once
	maxTailBuffer   = 1000 // decisions between two flushes
	tailFlushEvery  = 100 * time.Millisecond
	exampleFollowed = `{"key": "sk_live_1"}`
)

// A followRequest is the body of POST /rate_limit/decisions, so that the key is in no log of paths.
type followRequest struct {
	Key     string `json:"key"`
	Base64  string `json:"key_base64"`
	Missing bool   `json:"missing"`
}

// A tailRequest is what a client wants to follow.
type tailRequest struct {
	filter   decisionFilter
	duration time.Duration
	limit    int64 // 0: none
}

// getDecisions answers GET /rate_limit/decisions with a live tail of the decisions of this node.
func getDecisions(w http.ResponseWriter, r *http.Request) error {
	running, err := runningRules()
	if err != nil {
		return err
	}
	t, err := newTailRequest(running, r)
	if err != nil {
		return err
	}
	return t.serve(w, r)
}

// postDecisions answers POST /rate_limit/decisions with a live tail of the decisions about a key.
func postDecisions(w http.ResponseWriter, r *http.Request) error {
	var body followRequest
	if err := readJSON(w, r, &body, exampleFollowed); err != nil {
		return err
	}
	running, err := runningRules()
	if err != nil {
		return err
	}
	t, err := newTailRequest(running, r)
	if err != nil {
		return err
	}
	key := rules.Key{Text: body.Key, Base64: body.Base64, Missing: body.Missing}
	if t.filter.keys, err = running.keysInZones(key, t.filter.zones); err != nil {
		return apiError(http.StatusBadRequest, "key: %w", err)
	}
	return t.serve(w, r)
}

// keysInZones returns the keys of requests that key names, by zone. It returns an error if it can be a
// key of none of zones, which are all if it is empty.
func (a *runningApp) keysInZones(key rules.Key, zones []string) (map[string][][]byte, error) {
	var first error
	keys := make(map[string][][]byte)
	for _, name := range a.schema.Zones() {
		if len(zones) > 0 && !slices.Contains(zones, name) {
			continue
		}
		found, err := a.schema.zone(name).keysOf(&key)
		if err != nil {
			if first == nil {
				first = fmt.Errorf("zone %q: %w", name, err)
			}
			continue
		}
		keys[name] = found
	}
	switch {
	case len(keys) > 0:
		return keys, nil
	case first == nil:
		first = fmt.Errorf("%s counts no keys of zones: use the name of a zone", emergencyZone)
	}
	return nil, first
}

// newTailRequest reads the query of r.
func newTailRequest(running *runningApp, r *http.Request) (*tailRequest, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, apiError(http.StatusBadRequest, "the query cannot be read: %w: use %%25 for a percent sign", err)
	}
	if err := checkTailQuery(running, query); err != nil {
		return nil, err
	}
	t := &tailRequest{filter: decisionFilter{zones: query["zone"], outcomes: query["outcome"]}}
	t.filter.sample = adminapi.DefaultSample
	if r.Method == http.MethodPost {
		t.filter.sample = 1 // a key has few requests
	}
	if text := query.Get("sample"); text != "" {
		if t.filter.sample, err = parseSample(text); err != nil {
			return nil, apiError(http.StatusBadRequest, "%w", err)
		}
	}
	text := cmp.Or(query.Get("for"), adminapi.DefaultTail)
	t.duration, err = caddy.ParseDuration(text)
	switch {
	case err != nil:
		return nil, apiError(http.StatusBadRequest, "for is %q, which is not a duration: use one such as 30s", text)
	case t.duration <= 0 || t.duration > adminapi.MaxTail:
		return nil, apiError(http.StatusBadRequest, "for is %s: use more than 0s, and at most %.0fm", text, adminapi.MaxTail.Minutes())
	}
	t.limit, err = queryInt(r, "limit", 0, 1)
	return t, err
}

// checkTailQuery refuses what would follow something else than was meant.
func checkTailQuery(running *runningApp, query url.Values) error {
	known := []string{"zone", "outcome", "sample", "for", "limit"}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		switch {
		case strings.HasPrefix(name, "key"):
			return apiError(http.StatusBadRequest, "%s is in the query, which logs have: use POST with a body such as %s",
				name, exampleFollowed)
		case !slices.Contains(known, name):
			return apiError(http.StatusBadRequest, "%w", spelling.UnknownWord("a parameter", name, known, nil))
		}
	}
	for _, name := range query["zone"] {
		if name != emergencyZone && running.schema.zone(name) == nil {
			return apiError(http.StatusBadRequest, "zone: %w", running.schema.noZone(name))
		}
	}
	for _, outcome := range query["outcome"] {
		if !slices.Contains(adminapi.Outcomes, outcome) {
			return apiError(http.StatusBadRequest, "%w", spelling.UnknownWord("outcome", outcome, adminapi.Outcomes, nil))
		}
	}
	return nil
}

// parseSample parses a fraction or a percentage.
func parseSample(text string) (float64, error) {
	if f, err := config.ParsePercent(text); err == nil {
		return f, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !(f >= 0 && f <= 1) { // nor NaN
		return 0, fmt.Errorf("sample is %q: use a fraction from 0 to 1, such as 0.01", text)
	}
	return f, nil
}

// serve writes the decisions as they come, and a line at the end that says why it is one. It collects
// them for a moment before it writes, so that a flood costs little. What does not fit then is dropped.
func (t *tailRequest) serve(w http.ResponseWriter, r *http.Request) error {
	if r.Method == http.MethodHead {
		startLines(w)
		return nil
	}
	tail := tails.Open(t.filter, maxTailBuffer, maxTails)
	if tail == nil {
		return apiError(http.StatusTooManyRequests, "%d clients follow the decisions of this node already: use one of their "+
			"tails, or wait until one ends", maxTails)
	}
	defer tails.Close(tail)
	reload := shutdownOfServer(r)
	lines := newLineWriter(w)
	over, flush := time.NewTimer(t.duration), time.NewTicker(tailFlushEvery)
	defer over.Stop()
	defer flush.Stop()
	for end := ""; end == "" && lines.err == nil; {
		select {
		case <-r.Context().Done():
			return nil
		case <-reload:
			end = adminapi.EndReload
		case <-over.C:
			end = adminapi.EndDuration
		case <-flush.C:
		}
		for range maxTailBuffer { // then it looks at what ends it
			told, ok := tail.Take()
			if !ok || lines.err != nil {
				break
			}
			lines.write(adminapi.DecisionLine{Decision: told})
			if t.limit--; t.limit == 0 {
				end = adminapi.EndLimit
				break
			}
		}
		if n := tail.Dropped(); n > 0 && end != adminapi.EndLimit {
			lines.write(adminapi.DecisionLine{Dropped: n})
		}
		if end != "" {
			lines.write(adminapi.DecisionLine{End: end})
		}
		lines.flush()
	}
	return nil
}
