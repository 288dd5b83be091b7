package fleetlimit

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/keytemplate"
	"github.com/fleetlimit/fleetlimit/limiter"
)

// A requestState is what the rate_limit handlers of one request have decided so far. They share it, so that the response speaks
// for all of them. It is made once per request, which it outlives in access logs; what is not needed so long is in scratch.
type requestState struct {
	results  []zoneResult
	exceeded string // the zone that rejected the request
	headers  headerValues
	writer   responseWriter
}

// newRequestState returns a record with room for the results of so many zones, or for three of them.
func newRequestState(zones int) *requestState {
	if zones == 1 {
		r := new(struct {
			requestState
			room [1]zoneResult
		})
		r.results = r.room[:0]
		return &r.requestState
	}
	r := new(struct {
		requestState
		room [3]zoneResult
	})
	r.results = r.room[:0]
	return &r.requestState
}

// A zoneResult is the decision of one zone.
type zoneResult struct {
	zone     *zone
	rule     *rule
	template *keytemplate.Template // of the key
	decision limiter.Decision
	headers  headerSet // of the handler
	degraded bool      // the store did not decide: decision has only what is known without it
}

// wait returns for how long the same request would be rejected, by the clock of whoever decided.
func (r *zoneResult) wait() limiter.Instant { return r.decision.RetryAt - r.decision.At }

// source says who decided.
func (r *zoneResult) source() string {
	if r.degraded {
		return degraded
	}
	return r.decision.Source.String()
}

// requestStateVar is the name of the variable that holds a request's record.
const requestStateVar = "rate_limit.record"

// requestStateOf returns the request's record, which it makes when there is none yet, for so many zones.
func requestStateOf(r *http.Request, repl *caddy.Replacer, zones int) *requestState {
	if rec, ok := caddyhttp.GetVar(r.Context(), requestStateVar).(*requestState); ok {
		return rec
	}
	rec := newRequestState(zones)
	caddyhttp.SetVar(r.Context(), requestStateVar, rec)
	repl.Map(rec.placeholder)
	return rec
}

// format prepares the headers of the response. Results before first are those of earlier handlers; of a zone that they
// have decided too, the last decision counts. The X- headers speak for speaker, or for the zone with the least left. retry is
// the seconds of Retry-After, 0 for a request that is not rejected.
func (rec *requestState) format(first int, speaker *zoneResult, retry int64) {
	if first > 0 {
		kept := rec.results[:0]
		for i, r := range rec.results {
			if !slices.ContainsFunc(rec.results[max(i+1, first):], r.sameZone) {
				kept = append(kept, r)
			}
		}
		rec.results = kept
	}
	if speaker == nil {
		speaker = rec.tightest()
	}
	rec.headers.format(rec.results, speaker, retry)
}

// sameZone reports whether two results are of one zone.
func (r *zoneResult) sameZone(other zoneResult) bool { return r.zone.zoneState == other.zone.zoneState }

// tightest returns the result with the smallest part of its limit left. What is not known may be less than nothing.
func (rec *requestState) tightest() *zoneResult {
	var least *zoneResult
	for i := range rec.results {
		r := &rec.results[i]
		if r.headers&xHeaders == 0 {
			continue
		}
		if least == nil || r.remainingFraction() < least.remainingFraction() {
			least = r
		}
	}
	if least == nil {
		return &rec.results[0]
	}
	return least
}

// remainingFraction returns which part of the limit is left, 0 to 1, or less than 0 when nobody knows.
func (r *zoneResult) remainingFraction() float64 {
	if r.decision.Limit == 0 {
		return 0
	}
	return float64(r.decision.Remaining) / float64(r.decision.Limit)
}

// placeholder answers {http.rate_limit.exceeded.name} and {http.rate_limit.<zone>.limit|remaining|reset|source}.
func (rec *requestState) placeholder(name string) (any, bool) {
	name, ok := strings.CutPrefix(name, "http.rate_limit.")
	if !ok {
		return nil, false
	}
	if name == "exceeded.name" {
		return rec.exceeded, true
	}
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return nil, false
	}
	for i := range rec.results {
		r := &rec.results[i]
		if r.zone.name != name[:dot] {
			continue
		}
		switch name[dot+1:] {
		case "limit":
			return strconv.FormatInt(r.decision.Limit, 10), true
		case "remaining":
			return strconv.FormatInt(r.decision.Remaining, 10), true
		case "reset":
			if r.degraded {
				return "", true
			}
			return strconv.FormatInt(r.decision.ResetAt.Unix(), 10), true
		case "source":
			return r.source(), true
		}
	}
	return nil, false
}
