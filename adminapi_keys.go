package fleetlimit

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/rules"
)

// A keysRequest names keys of a zone in the body of a request, so that they are in no log of paths.
type keysRequest struct {
	Key      string   `json:"key"`
	Base64   string   `json:"key_base64"`
	Stored   string   `json:"key_stored"`
	Keys     []string `json:"keys"`
	Missing  bool     `json:"missing"`
	Endpoint string   `json:"endpoint"`
	Reason   string   `json:"reason"`
}

// maxKeysInRequest is how many keys a request may name.
const maxKeysInRequest = 1000

// An operation changes the counts of keys.
type operation struct {
	running *runningApp
	body    *keysRequest
	actions []rules.Action // one for each key
	counts  []keyCount
}

// newOperation finds the counts that body is about, in the zone that the path names. action has what
// is not about the key.
func newOperation(r *http.Request, body *keysRequest, action rules.Action) (*operation, error) {
	running, err := runningRules()
	if err != nil {
		return nil, err
	}
	z, err := running.zoneOf(r)
	if err != nil {
		return nil, err
	}
	if err := checkEndpoint(running, z, body.Endpoint); err != nil {
		return nil, err
	}
	if r.URL.Query().Has("dry_run") {
		return nil, apiError(http.StatusBadRequest, "dry_run is about rules, not counts: use POST /rate_limit/zones/%s/inspect",
			z.name)
	}
	o := &operation{running: running, body: body}
	action.Endpoint = body.Endpoint
	add := func(path string, key keyRef) error {
		key.Zone, key.Missing = z.name, body.Missing
		counts, err := running.countsOf(&key, body.Endpoint)
		if err != nil {
			return apiError(http.StatusBadRequest, "%s: %w", path, err)
		}
		action.Key, action.Stored = key.Key, key.Stored
		if key.Stored != "" {
			action.Key.Text, action.Key.Base64 = "", "" // they may name other keys, too
		}
		o.actions, o.counts = append(o.actions, action), append(o.counts, counts...)
		return nil
	}
	switch {
	case len(body.Keys) == 0:
		return o, add("key", keyRef{rules.Key{Text: body.Key, Base64: body.Base64}, body.Stored})
	case body.Key != "" || body.Base64 != "" || body.Stored != "":
		return nil, apiError(http.StatusBadRequest, "there are both keys and a key: use one of them")
	case len(body.Keys) > maxKeysInRequest:
		return nil, apiError(http.StatusBadRequest, "keys: there are %d: use at most %d", len(body.Keys), maxKeysInRequest)
	}
	for i, text := range body.Keys {
		if err := add(fmt.Sprintf("keys[%d]", i), keyRef{Key: rules.Key{Text: text}}); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// checkEndpoint refuses an endpoint that a zone does not have.
func checkEndpoint(running *runningApp, z *zone, name string) error {
	if names := running.schema.Endpoints(z.name); name != "" && !slices.Contains(names, name) {
		return apiError(http.StatusBadRequest, "endpoint: there is no endpoint %q: use one of %q", name, names)
	}
	return nil
}

// do changes each count by change, and writes a version that says so, from which all nodes know that
// they must drop what they know of the keys.
func (o *operation) do(
	w http.ResponseWriter, r *http.Request, change func(ctx context.Context, now time.Time, c *keyCount) error,
) error {
	note, err := noteOf(r, o.body.Reason)
	if err != nil {
		return err
	}
	if _, _, err := ifMatch(r); err != nil {
		return err
	}
	ctx := context.WithoutCancel(r.Context()) // all of it is done, even if the client has gone
	for i := range o.counts {
		if err := change(ctx, time.Now(), &o.counts[i]); err != nil {
			return apiError(http.StatusServiceUnavailable, "the store of the counts has failed: %w: use the same request again, "+
				"as it may have been done in part", err)
		}
	}
	answer, err := changeRules(r.WithContext(ctx), rulesChange{actions: o.actions, note: note})
	if err != nil {
		return rulesError(err)
	}
	answerWritten(w, answer)
	return nil
}

const exampleReset = `{"key": "sk_live_1", "reason": "they asked for it"}`

// postReset answers POST /rate_limit/zones/{zone}/reset, which gives keys their full limits again.
func postReset(w http.ResponseWriter, r *http.Request) error {
	var body keysRequest
	if err := readLongJSON(w, r, maxKeysBody, &body, exampleReset); err != nil {
		return err
	}
	o, err := newOperation(r, &body, rules.Action{Kind: rules.Reset})
	if err != nil {
		return err
	}
	return o.do(w, r, func(ctx context.Context, now time.Time, c *keyCount) error {
		return o.running.store.Reset(ctx, now, c.Rule, c.Key)
	})
}

// A quotaRequest is the body of POST /rate_limit/zones/{zone}/quota.
type quotaRequest struct {
	keysRequest
	Events int64 `json:"events"`
}

const exampleQuota = `{"key": "sk_live_1", "events": 500, "reason": "they asked for it"}`

// postQuota answers POST /rate_limit/zones/{zone}/quota, which gives keys back what they have
// consumed.
func postQuota(w http.ResponseWriter, r *http.Request) error {
	var body quotaRequest
	if err := readLongJSON(w, r, maxKeysBody, &body, exampleQuota); err != nil {
		return err
	}
	if body.Events < 1 || body.Events > limiter.MaxEvents {
		return apiError(http.StatusBadRequest, "events: it is %d: use 1 to %d", body.Events, int64(limiter.MaxEvents))
	}
	o, err := newOperation(r, &body.keysRequest, rules.Action{Kind: rules.AddQuota, Events: body.Events})
	if err != nil {
		return err
	}
	return o.do(w, r, func(ctx context.Context, now time.Time, c *keyCount) error {
		_, err := o.running.store.AddQuota(ctx, now, c.Rule, c.Key, body.Events)
		return err
	})
}
