package adminapi

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/internal/operate/inspect"
)

var errNoSubject = errors.New("there is neither a key nor a zone: use one of them, or both")

const exampleHistory = `{"zone": "user", "key": "sk_live_1"}`

// historyPatience is how long an answer waits for the versions of the rules.
const historyPatience = 3 * time.Second

// postHistory answers POST /rate_limit/history.
func postHistory(c *Running, w http.ResponseWriter, r *http.Request) (any, error) {
	body := api.HistoryRequest{Limit: api.DefaultEvents, Versions: api.DefaultHistoryVersions}
	if err := readJSON(w, r, maxBody, &body, exampleHistory); err != nil {
		return nil, err
	}
	for name, n := range map[string]int{"limit": body.Limit, "versions": body.Versions} {
		if n < 1 || n > api.MaxEvents {
			return nil, apiError(http.StatusBadRequest, "%s is %d: use 1 to %d", name, n, api.MaxEvents)
		}
	}
	zones, err := historyZones(c, &body)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), historyPatience)
	defer cancel()
	answer := &api.History{Zones: []string{}, Events: []api.HistoryEvent{}}
	var first error
	for _, zone := range zones {
		if one, err := historyOf(ctx, c, zone, body); err == nil {
			addHistory(answer, zone, one)
		} else {
			first = cmp.Or(first, err)
		}
	}
	if len(answer.Zones) == 0 {
		return nil, first
	}
	sortHistory(answer, body.Limit)
	return answer, nil
}

// historyZones returns the zones that a request is about.
func historyZones(c *Running, body *api.HistoryRequest) ([]string, error) {
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
func historyOf(ctx context.Context, c *Running, zone string, body api.HistoryRequest) (*api.History, error) {
	known, err := storedByHash(ctx, c, zone, &body.ShownKeyName)
	if err != nil {
		return nil, err
	}
	one, err := c.history(ctx, zone, &body)
	if err != nil {
		return nil, apiError(http.StatusBadRequest, "%w", err)
	}
	if known != nil {
		one.ShownKey = known.Shown
	}
	return one, nil
}

// history returns what has happened to a zone, or to the key in it that r names. If r has the hash
// of the key, the caller must have replaced it. history returns an error if r has a mistake.
func (c *Running) history(ctx context.Context, zone string, r *api.HistoryRequest) (*api.History, error) {
	historian, err := inspect.NewHistorian(c.Snapshot, zone, r)
	if err != nil {
		return nil, err
	}
	timeline, err := c.Watcher.Timeline(ctx, &historian.Subject, r.Versions)
	used := cmp.Or(usage.Find(zone), new(usage.ZoneCounters))
	view := used.Journal.View()
	answer := historian.Tell(&timeline, &view, c.Store.Node())
	answer.Since = used.Began.UTC().Truncate(time.Millisecond)
	if err != nil {
		answer.RulesError = err.Error()
	}
	return answer, nil
}

// addHistory adds the history of a zone to h. Events about all zones are in the history of the
// first zone already.
func addHistory(h *api.History, zone string, one *api.History) {
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

// sortHistory puts the newest events of h first, and keeps at most most of them.
func sortHistory(h *api.History, most int) {
	slices.SortStableFunc(h.Events, func(a, b api.HistoryEvent) int { return b.Time.Compare(a.Time) })
	if len(h.Events) > most {
		h.Events, h.More = h.Events[:most], true
	}
}
