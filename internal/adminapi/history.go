package adminapi

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"
)

// A HistoryRequest is the body of POST /rate_limit/history. It names a zone, a key, or both.
type HistoryRequest struct {
	Zone string `json:"zone"` // empty: all zones that can have the key
	ShownKeyName
	Limit    int `json:"limit"`    // of events
	Versions int `json:"versions"` // of the rules that are looked at
}

var errNoSubject = errors.New("there is neither a key nor a zone: use one of them, or both")

const exampleHistory = `{"zone": "user", "key": "sk_live_1"}`

// What a History has.
const (
	DefaultEvents          = 100
	MaxEvents              = 1000
	DefaultHistoryVersions = 200

	historyPatience = 3 * time.Second // for the versions of the rules
)

// A History is what has happened to a key or a zone, the newest first.
type History struct {
	Zones []string `json:"zones"`
	ShownKey
	Node  string    `json:"node"`  // that has answered
	Since time.Time `json:"since"` // from when on the node remembers what is in no version

	// OldestVersion is the oldest version of the rules that was looked at. More says that there are older
	// ones, or further events.
	OldestVersion int64  `json:"oldest_version"`
	More          bool   `json:"more"`
	RulesError    string `json:"rules_error,omitempty"` // why there are no versions

	// Missed is how many events the node has left out, as many began in one second.
	Missed uint64 `json:"missed,omitempty"`

	Events []HistoryEvent `json:"events"`
}

// A HistoryEvent is what has happened at an instant, or from then until another one.
type HistoryEvent struct {
	Time  time.Time  `json:"time"`
	Until *time.Time `json:"until,omitempty"` // when it has happened last
	Times int        `json:"times,omitempty"` // in how many windows

	Kind string `json:"kind"`
	Zone string `json:"zone,omitempty"` // empty: it is about all zones
	ShownKey
	Tier string `json:"tier,omitempty"`
	What string `json:"what"`

	// The first request that was rejected.
	ClientIP string `json:"client_ip,omitempty"`
	Method   string `json:"method,omitempty"`
	Path     string `json:"path,omitempty"`

	Author  string `json:"author,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Version int64  `json:"version,omitempty"` // of the rules
	Entry   string `json:"entry,omitempty"`   // its ID
	Node    string `json:"node,omitempty"`    // that has seen it; empty: it is about all nodes
}

// Kinds of events, besides those of package journal. Those of entries and of the emergency end with what
// was done: override_made, tier_changed, access_ended, emergency_expired.
const (
	LimitChanged = "limit_changed"
	Reloaded     = "reload"
)

// postHistory answers POST /rate_limit/history.
func postHistory(c Running, w http.ResponseWriter, r *http.Request) (any, error) {
	body := HistoryRequest{Limit: DefaultEvents, Versions: DefaultHistoryVersions}
	if err := readJSON(w, r, &body, exampleHistory); err != nil {
		return nil, err
	}
	for name, n := range map[string]int{"limit": body.Limit, "versions": body.Versions} {
		if n < 1 || n > MaxEvents {
			return nil, apiError(http.StatusBadRequest, "%s is %d: use 1 to %d", name, n, MaxEvents)
		}
	}
	zones, err := historyZones(c, &body)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), historyPatience)
	defer cancel()
	answer := &History{Zones: []string{}, Events: []HistoryEvent{}}
	var first error
	for _, zone := range zones {
		one, err := historyOf(ctx, c, zone, body)
		if err != nil {
			if first == nil {
				first = err
			}
			continue
		}
		answer.add(zone, one)
	}
	if len(answer.Zones) == 0 {
		return nil, first
	}
	answer.sort(body.Limit)
	return answer, nil
}

// historyZones returns the zones that a request is about.
func historyZones(c Running, body *HistoryRequest) ([]string, error) {
	zones := c.Schema().Zones()
	switch {
	case body.Zone != "":
		if err := knownZone(zones, body.Zone, http.StatusBadRequest); err != nil {
			return nil, err
		}
		return []string{body.Zone}, nil
	case !body.IsSet():
		return nil, badBody(errNoSubject, exampleHistory)
	case body.Stored != "":
		return nil, apiError(http.StatusBadRequest, "key_stored is a key of one zone: use it with zone")
	case body.Hash != "":
		return zones, nil
	}
	keys, err := keysInZones(c, body.In(""), nil)
	if err != nil {
		return nil, apiError(http.StatusBadRequest, "key: %w", err)
	}
	return slices.DeleteFunc(slices.Clone(zones), func(z string) bool { return keys[z] == nil }), nil
}

// historyOf returns the history of one zone, or of a key in it.
func historyOf(ctx context.Context, c Running, zone string, body HistoryRequest) (*History, error) {
	known, err := body.storedByHash(ctx, c, zone)
	if err != nil {
		return nil, err
	}
	one, err := c.History(ctx, zone, &body)
	if err != nil {
		return nil, apiError(http.StatusBadRequest, "%w", err)
	}
	if known != nil {
		one.ShownKey = known.Shown
	}
	return one, nil
}

// add adds the history of a zone. What is about all zones is in that of the first one already.
func (h *History) add(zone string, one *History) {
	if len(h.Zones) == 0 {
		zones, events := append(h.Zones, zone), append(h.Events, one.Events...)
		*h = *one
		h.Zones, h.Events = zones, events
		return
	}
	h.Zones, h.More, h.Missed = append(h.Zones, zone), h.More || one.More, h.Missed+one.Missed
	for i := range one.Events {
		if one.Events[i].Zone != "" {
			h.Events = append(h.Events, one.Events[i])
		}
	}
}

// sort puts the newest events first, and leaves out those that are too many.
func (h *History) sort(most int) {
	slices.SortStableFunc(h.Events, func(a, b HistoryEvent) int { return b.Time.Compare(a.Time) })
	if len(h.Events) > most {
		h.Events, h.More = h.Events[:most], true
	}
}
