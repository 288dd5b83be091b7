// Package response is what was decided about a request, and what its response says: the headers of every
// response, and the bodies of 429, 503, 408, 403 and 400.
package response

import (
	"slices"
	"strconv"
	"strings"

	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
)

// A State is what the zones of one request have decided so far. The handlers of the request
// share it, so that the response describes all their zones. Access logs still read it after the
// request.
type State struct {
	Results  []Result
	inline   [3]Result // the array of Results, as long as they fit
	Exceeded string    // the name of the zone that rejected the request; "" if none has
	Refusal  *Refusal  // why the request is refused; nil if it is not
	Keys     []KeyText // for the access log
	headers  headerValues
	fixed    fixedValues    // of a rejection
	rejected *ZoneResponses // the zone whose own headers the response has; nil if there is none
	writer   responseWriter
	ending   *ending // nil if nobody awaits the end of the response
}

// A KeyText is the text of the key that a zone counts a request by.
type KeyText struct {
	Zone *usage.ZoneCounters
	Text string
}

// KeyText returns the text of the key of a zone, "" if there is none.
func (s *State) KeyText(zone string) string {
	for _, k := range s.Keys {
		if k.Zone.Name == zone {
			return k.Text
		}
	}
	return ""
}

// Add adds a copy of a result.
func (s *State) Add(r *Result) {
	if s.Results == nil {
		s.Results = s.inline[:0]
	}
	s.Results = append(s.Results, *r)
}

// HighestRate returns the result with the highest rate among those from the index first on that
// reject the request. It is the one that caddy-ratelimit names.
func (s *State) HighestRate(first int) *Result {
	var highest *Result
	for i := range s.Results[first:] {
		if r := &s.Results[first+i]; !r.Decision.OK && (highest == nil || r.Policy.rate() > highest.Policy.rate()) {
			highest = r
		}
	}
	return highest
}

// formatHeaders prepares the headers of the response. first is the index of the handler's first result. If an
// earlier handler has decided one of the handler's zones, too, formatHeaders removes the older result. The X-
// headers describe shown, or the zone with the least left if shown is nil. retry is the value of Retry-After
// in seconds, 0 for an admitted request.
func (s *State) formatHeaders(first int, shown *Result, retry int64) {
	if first > 0 {
		latest := s.Results[first:]
		earlier := slices.DeleteFunc(s.Results[:first], func(old Result) bool {
			return slices.ContainsFunc(latest, func(r Result) bool { return r.IsLike(&old) })
		})
		s.Results = append(earlier, latest...)
	}
	if shown == nil {
		shown = s.tightest(xHeaders)
	}
	s.headers.format(s.Results, shown, retry)
}

// tightest returns the result with the smallest fraction of its limit remaining, among the results of
// handlers that send these headers. In an outage, less than nothing remains. A result about requests at once
// counts only if there is none about a rate: it has no window, and of a low limit little remains all the
// time.
func (s *State) tightest(headers headerSet) *Result {
	var least *Result
	for i := range s.Results {
		r := &s.Results[i]
		if r.Settings.has(headers) && (least == nil || r.isTighter(least)) {
			least = r
		}
	}
	return least
}

// isTighter reports whether r rather than other is the tightest result.
func (r *Result) isTighter(other *Result) bool {
	if r.IsConcurrent() != other.IsConcurrent() {
		return other.IsConcurrent()
	}
	return r.remainingFraction() < other.remainingFraction()
}

// Decisive returns the result that rejects the request, or else the one with the least left.
func (s *State) Decisive() *Result {
	for i := range s.Results {
		if r := &s.Results[i]; !r.Decision.OK && r.Usage.Name == s.Exceeded {
			return r
		}
	}
	return s.tightest(noHeaders)
}

// Placeholder returns the value of {http.rate_limit.<name>}, where name is exceeded.name|endpoint or
// <zone>.limit|remaining|reset|source. s may be nil. The values of a zone that did not apply are empty. The
// values of a zone that hasZone does not know are unknown, which shows the mistake.
func (s *State) Placeholder(name string, hasZone func(string) bool) (value string, known bool) {
	if s == nil {
		s = new(State)
	}
	switch name {
	case "exceeded.name":
		return s.Exceeded, true
	case "exceeded.endpoint":
		if r := s.Decisive(); r != nil && !r.Decision.OK {
			return r.Endpoint, true
		}
		return "", true
	}
	dot := max(0, strings.LastIndexByte(name, '.'))
	zone, of := name[:dot], resultValues[name[dot:]]
	if of == nil {
		return "", false
	}
	for i := range s.Results {
		if r := &s.Results[i]; r.Usage.Name == zone {
			return of(r), true
		}
	}
	return "", hasZone(zone)
}

// resultValues return the values of placeholders, by the end of the placeholder's name.
var resultValues = map[string]func(*Result) string{
	".limit":     func(r *Result) string { return strconv.FormatInt(r.Decision.Limit, 10) },
	".remaining": func(r *Result) string { return strconv.FormatInt(r.Remaining(), 10) },
	".reset": func(r *Result) string {
		if r.Failure != nil {
			return ""
		}
		return strconv.FormatInt(r.Decision.ResetAt.Unix(), 10)
	},
	".source": func(r *Result) string {
		if r.Failure != nil {
			return degraded
		}
		return r.Decision.Source.String()
	},
}
