package adminapi

import (
	"bytes"
	"net/http"
	"slices"
	"time"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/rules"
)

// A lookupRequest is the body of POST /rate_limit/zones/{zone}/overrides.
type lookupRequest struct {
	api.KeyName
	Hash string `json:"key_hash"`
}

// postLookup answers POST /rate_limit/zones/{zone}/overrides with the overrides of a key, which may
// be written in another way than in the rules. The key is in the body, so that it is in no log.
func postLookup(c *Running, w http.ResponseWriter, r *http.Request, body *lookupRequest) (any, error) {
	zone, err := zoneOf(c, r, "")
	if err != nil {
		return nil, err
	}
	name := body.In(zone)
	if body.Hash != "" {
		known, err := keyByHash(r.Context(), c, zone, body.Hash, body.Key != "" || body.Base64 != "")
		if err != nil {
			return nil, err
		}
		name = known.Name
	}
	wanted, err := [][]byte(nil), error(nil)
	if body.Hash == "" || name.Text != "" || name.Base64 != "" { // otherwise rules cannot name the key
		wanted, err = c.Snapshot.Set().Keys(&name)
	}
	if err != nil {
		return nil, apiError(http.StatusBadRequest, "key: %w", err)
	}
	v, now, found := c.Watcher.Latest(), time.Now(), []*rules.Override{}
	for _, o := range v.Document.Overrides {
		if o.Zone == zone && !o.Expired(now) && namesAny(c, o.Key, wanted) {
			found = append(found, rules.Canonical(o, c.Schema()))
		}
	}
	w.Header().Set("ETag", etag(v.Number))
	return map[string]any{overrideEntries.name: found}, nil
}

// namesAny reports whether key names any of the keys of requests.
func namesAny(c *Running, key rules.Key, of [][]byte) bool {
	keys, err := c.Snapshot.Set().Keys(&key) // an override that has become wrong names no key
	return err == nil && slices.ContainsFunc(keys, func(k []byte) bool {
		return slices.ContainsFunc(of, func(other []byte) bool { return bytes.Equal(k, other) })
	})
}
