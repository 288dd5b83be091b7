package adminapi

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/observe/tail"
	"github.com/fleetlimit/fleetlimit/internal/text/spelling"
	"github.com/fleetlimit/fleetlimit/rules"
)

const (
	maxTail         = 10 * time.Minute
	maxTails        = 8    // tails on a node at once
	maxTailBuffer   = 1000 // decisions between two flushes
	tailFlushEvery  = 100 * time.Millisecond
	exampleFollowed = `{"key": "sk_live_1"}`

	// defaultSample is the part that a tail shows of the decisions that let requests pass. A tail of
	// one key shows all of them.
	defaultSample = 0.01
)

// A tailRequest is what a client wants to follow.
type tailRequest struct {
	filter   tail.DecisionFilter
	duration time.Duration
	limit    int64 // 0 if there is none
}

// followDecisions answers GET /rate_limit/decisions with a live tail of the decisions of this node,
// and POST with one of the decisions about a key.
func followDecisions(p *Process, w http.ResponseWriter, r *http.Request) (any, error) {
	var body api.KeyName
	ofKey := r.Method == http.MethodPost
	if ofKey {
		if err := readJSON(w, r, maxBody, &body, exampleFollowed); err != nil {
			return nil, err
		}
	}
	c, err := runningOf(p)
	if err != nil {
		return nil, err
	}
	t, err := newTailRequest(c, r)
	if err != nil {
		return nil, err
	}
	if ofKey {
		key := body.In("")
		t.filter.Address = addressesIn(key.Text)
		if t.filter.Keys, err = keysInZones(c, key, t.filter.Zones); err != nil {
			return nil, apiError(http.StatusBadRequest, "key: %w", err)
		}
	}
	return nil, t.serve(p.Tails, w, r)
}

// addressesIn returns the address or the range that a key is, or the zero value if it is none.
func addressesIn(key string) netip.Prefix {
	if a, err := netip.ParseAddr(key); err == nil {
		return netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen())
	}
	p, _ := netip.ParsePrefix(key) // most keys are no address
	return p
}

// keysInZones returns the keys of requests that key names, by zone. It returns an error if key can
// be a key of none of zones. If zones is empty, it looks in all zones.
func keysInZones(c *Running, key rules.Key, zones []string) (map[string][][]byte, error) {
	var first error
	keys := make(map[string][][]byte)
	for _, name := range c.Schema().Zones() {
		if len(zones) > 0 && !slices.Contains(zones, name) {
			continue
		}
		key.Zone = name
		found, err := c.Snapshot.Set().Keys(&key)
		if err != nil {
			first = cmp.Or(first, fmt.Errorf("zone %q: %w", name, err))
			continue
		}
		keys[name] = found
	}
	switch {
	case len(keys) > 0:
		return keys, nil
	case first == nil:
		first = fmt.Errorf("%s counts no keys of zones: use the name of a zone", api.EmergencyZone)
	}
	return nil, first
}

// newTailRequest reads the query of r.
func newTailRequest(c *Running, r *http.Request) (*tailRequest, error) {
	query := r.URL.Query()
	err := checkTailQuery(c, query)
	if err != nil {
		return nil, err
	}
	t := &tailRequest{filter: tail.DecisionFilter{Zones: query["zone"], Outcomes: query["outcome"]}}
	t.filter.Sample = defaultSample
	if r.Method == http.MethodPost {
		t.filter.Sample = 1 // a key has few requests
	}
	if text := query.Get("sample"); text != "" {
		if t.filter.Sample, err = parseSample(text); err != nil {
			return nil, apiError(http.StatusBadRequest, "%w", err)
		}
	}
	text := cmp.Or(query.Get("for"), api.DefaultTail)
	t.duration, err = caddy.ParseDuration(text)
	switch {
	case err != nil:
		return nil, apiError(http.StatusBadRequest, "for is %q, which is not a duration: use one such as 30s", text)
	case t.duration <= 0 || t.duration > maxTail:
		return nil, apiError(http.StatusBadRequest, "for is %s: use more than 0s, and at most %.0fm", text, maxTail.Minutes())
	}
	t.limit, err = queryInt(r, "limit", 0, 1)
	return t, err
}

// checkTailQuery refuses unknown zones and outcomes, with which a tail would follow something else
// than was meant.
func checkTailQuery(c *Running, query url.Values) error {
	zones := c.Schema().Zones()
	for _, name := range query["zone"] {
		if name != api.EmergencyZone && !slices.Contains(zones, name) {
			return apiError(http.StatusBadRequest, "zone: there is no zone %q: use one of %q", name, zones)
		}
	}
	for _, outcome := range query["outcome"] {
		if !slices.Contains(api.Outcomes, outcome) {
			return apiError(http.StatusBadRequest, "%w", spelling.UnknownWord("outcome", outcome, api.Outcomes, nil))
		}
	}
	return nil
}

// parseSample parses a fraction or a percentage.
func parseSample(text string) (float64, error) {
	number, isPercent := strings.CutSuffix(text, "%")
	if isPercent {
		number += "e-2"
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || !(f >= 0 && f <= 1) { // NaN is refused, too
		return 0, fmt.Errorf("sample is %q: use a fraction from 0 to 1, such as 0.01", text)
	}
	return f, nil
}

// serve writes decisions as they come, and at the end a line that says why the tail ends. It
// collects decisions for a moment before it writes, so that a flood costs little. Decisions that
// find no room meanwhile are dropped.
func (t *tailRequest) serve(tails *tail.Decisions, w http.ResponseWriter, r *http.Request) error {
	if r.Method == http.MethodHead {
		startResponse(w, http.StatusOK, mediaJSONLines)
		return nil
	}
	opened := tails.Open(t.filter, maxTailBuffer, maxTails)
	if opened == nil {
		return apiError(http.StatusTooManyRequests, "%d clients follow the decisions of this node already: use one of their "+
			"tails, or wait until one ends", maxTails)
	}
	defer tails.Close(opened)
	reload := ShutdownOf(r)
	lines := newLineWriter(w)
	over, flush := time.NewTimer(t.duration), time.NewTicker(tailFlushEvery)
	defer over.Stop()
	defer flush.Stop()
	for end := ""; end == "" && lines.err == nil; {
		select {
		case <-r.Context().Done():
			return nil
		case <-reload:
			end = api.EndReload
		case <-over.C:
			end = api.EndDuration
		case <-flush.C:
		}
		for range maxTailBuffer { // after these it looks whether the tail ends
			told, ok := opened.Take()
			if !ok || lines.err != nil {
				break
			}
			lines.write(api.DecisionLine{Decision: told})
			if t.limit--; t.limit == 0 {
				end = api.EndLimit
				break
			}
		}
		if n := opened.Dropped(); n > 0 && end != api.EndLimit {
			lines.write(api.DecisionLine{Dropped: n})
		}
		if end != "" {
			lines.write(api.DecisionLine{End: end})
		}
		lines.flush()
	}
	return nil
}
