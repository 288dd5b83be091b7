package adminapi

import (
	"context"
	"net/http"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/operate/inspect"
	"github.com/fleetlimit/fleetlimit/internal/text/strictjson"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/rules"
)

// A keysRequest names keys of a zone in the body of a request, so that they are in no log of paths.
type keysRequest struct {
	api.ShownKeyName
	Keys     []string `json:"keys"`
	Endpoint string   `json:"endpoint"`
	Reason   string   `json:"reason"`
}

// maxKeysInRequest is how many keys a request may name.
const maxKeysInRequest = 1000

// operate does an action to the counts of the keys of body, in the zone that the path of r names.
// Then it writes a version with the actions, so that all nodes drop what they know of the keys.
// action has the fields that are not about keys.
func operate(c *Running, w http.ResponseWriter, r *http.Request, body *keysRequest, action rules.Action) (any, error) {
	zone, err := zoneOf(c, r, body.Endpoint)
	if err != nil {
		return nil, err
	}
	if _, err := storedByHash(r.Context(), c, zone, &body.ShownKeyName); err != nil {
		return nil, err
	}
	action.Zone, action.Endpoint = zone, body.Endpoint
	actions, err := body.actions(action)
	if err != nil {
		return nil, err
	}
	operations := make([]func(context.Context) error, len(actions))
	for i := range actions {
		path := "key"
		if len(body.Keys) > 0 {
			path = strictjson.Index("keys", i)
		}
		if operations[i], err = c.operation(&actions[i]); err != nil {
			return nil, apiError(http.StatusBadRequest, "%s: %w", path, err)
		}
	}
	change, err := newChange(r, body.Reason)
	if err != nil {
		return nil, err
	}
	change.Actions = actions
	ctx := context.WithoutCancel(r.Context()) // all of it is done, even if the client has gone
	for _, do := range operations {
		if err := do(ctx); err != nil {
			return nil, apiError(http.StatusServiceUnavailable, "the store of the counts has failed: %w: use the same request "+
				"again, as it may have been done in part", err)
		}
	}
	answer, err := update(ctx, c, change, nil)
	if err != nil {
		return nil, rulesError(err)
	}
	return answerWritten(w, answer), nil
}

// operation returns a function that does an action to the counts of its key, and completes the name
// of the key. It returns an error if the action has a mistake. The errors of do are those of the
// store.
func (c *Running) operation(action *rules.Action) (do func(context.Context) error, err error) {
	key := inspect.KeyRef{Key: action.Key, Stored: action.Stored}
	counts, err := inspect.CountsOf(c.Snapshot, &key, action.Endpoint)
	if err != nil {
		return nil, err
	}
	action.Key = key.Key
	if action.Stored != "" {
		action.Text, action.Base64 = "", "" // they may name other keys, too
	}
	kind, events := action.Kind, action.Events
	return func(ctx context.Context) error {
		for _, count := range counts {
			if err := c.changeCount(ctx, count.Rule, count.Key, kind, events); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func (c *Running) changeCount(ctx context.Context, r *limiter.Rule, key []byte, kind string, events int64) error {
	if kind == rules.Reset {
		return c.Store.Reset(ctx, time.Now(), r, key)
	}
	_, err := c.Store.AddQuota(ctx, time.Now(), r, key, events)
	return err
}

// actions returns an action for each key. Apart from the key, it is equal to like.
func (b *keysRequest) actions(like rules.Action) ([]rules.Action, error) {
	like.Missing = b.Missing
	switch {
	case len(b.Keys) == 0:
		like.Text, like.Base64, like.Stored = b.Key, b.Base64, b.Stored
		return []rules.Action{like}, nil
	case b.Key != "" || b.Base64 != "" || b.Stored != "":
		return nil, apiError(http.StatusBadRequest, "there are both keys and a key: use one of them")
	case len(b.Keys) > maxKeysInRequest:
		return nil, apiError(http.StatusBadRequest, "keys: there are %d: use at most %d", len(b.Keys), maxKeysInRequest)
	}
	actions := make([]rules.Action, len(b.Keys))
	for i, text := range b.Keys {
		actions[i] = like
		actions[i].Text = text
	}
	return actions, nil
}

const exampleReset = `{"key": "sk_live_1", "reason": "they asked for it"}`

// postReset answers POST /rate_limit/zones/{zone}/reset, which gives keys their full limits again.
func postReset(c *Running, w http.ResponseWriter, r *http.Request, body *keysRequest) (any, error) {
	return operate(c, w, r, body, rules.Action{Kind: rules.Reset})
}

// A quotaRequest is the body of POST /rate_limit/zones/{zone}/quota.
type quotaRequest struct {
	keysRequest
	Events int64 `json:"events"`
}

const exampleQuota = `{"key": "sk_live_1", "events": 500, "reason": "they asked for it"}`

// postQuota answers POST /rate_limit/zones/{zone}/quota, which gives keys back what they have
// consumed.
func postQuota(c *Running, w http.ResponseWriter, r *http.Request, body *quotaRequest) (any, error) {
	if body.Events < 1 || body.Events > limiter.MaxEvents {
		return nil, apiError(http.StatusBadRequest, "events: it is %d: use 1 to %d", body.Events, int64(limiter.MaxEvents))
	}
	return operate(c, w, r, &body.keysRequest, rules.Action{Kind: rules.AddQuota, Events: body.Events})
}
