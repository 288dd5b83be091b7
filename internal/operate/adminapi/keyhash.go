package adminapi

import (
	"cmp"
	"context"
	"encoding/hex"
	"net/http"
	"strings"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/internal/observe/usage"
	"github.com/fleetlimit/fleetlimit/internal/operate/inspect"
)

// hashLength is how many hexadecimal digits a key_hash has.
const hashLength = 12

// keyByHash returns the key of a zone with a hash, which logs and lists have in place of a key.
// other reports whether the request names a key in another way, too.
func keyByHash(ctx context.Context, c *Running, zone, hash string, other bool) (*api.KnownKey, error) {
	if _, err := hex.DecodeString(hash); err != nil || len(hash) != hashLength {
		return nil, apiError(http.StatusBadRequest, "key_hash is %q: use the %d digits that logs and lists of keys show", hash, hashLength)
	}
	if other {
		return nil, apiError(http.StatusBadRequest, "there are both key_hash and a key: use one of them")
	}
	if k := c.findKey(ctx, zone, strings.ToLower(hash)); k != nil {
		return k, nil
	}
	return nil, apiError(http.StatusNotFound, "this node knows no key of zone %q with the hash %s: use the key itself, or the node "+
		"that has served it", zone, hash)
}

// findKey returns the key of a zone with a hash, or nil if this node knows none. It looks at all
// accounts last, because there may be a million.
func (c *Running) findKey(ctx context.Context, zone, hash string) *api.KnownKey {
	others := func(yield func([]byte) bool) {
		views, _, _ := c.topsOfOthers(ctx, zone) // without an answer, this node knows what it knows
		for _, view := range views {
			for _, k := range append(view.Rejected.Keys, view.Taken.Keys...) {
				if !yield([]byte(k.Key)) {
					return
				}
			}
		}
	}
	used := cmp.Or(usage.Find(zone), new(usage.ZoneCounters)) // a reload may drop the zone
	return inspect.KeyByHash(ctx, c.Snapshot, zone, hash, used.Keys, others, c.Store.KeysOf(zone))
}

// storedByHash sets n.Stored to the key with the hash in n, and returns the key. It returns nil if
// n has no hash.
func storedByHash(ctx context.Context, c *Running, zone string, n *api.ShownKeyName) (*api.KnownKey, error) {
	if n.Hash == "" {
		return nil, nil
	}
	k, err := keyByHash(ctx, c, zone, n.Hash, n.Key != "" || n.Base64 != "" || n.Stored != "")
	if err == nil {
		n.Stored = k.Stored
	}
	return k, err
}

// nameByHash replaces the hash in an object, which is an entry of the rules, by the name of the key
// with that hash.
func nameByHash(ctx context.Context, c *Running, object map[string]any) error {
	hash, found := object["key_hash"].(string)
	zone, isZone := object["zone"].(string)
	if !found || !isZone {
		return nil // the object is refused, unless it has no hash
	}
	k, err := keyByHash(ctx, c, zone, hash, object["key"] != nil || object["key_base64"] != nil)
	switch {
	case err != nil:
		return err
	case k.Name.Text == "" && k.Name.Base64 == "":
		return apiError(http.StatusBadRequest, "no text names the key with the hash %s: use the key as clients send it", hash)
	}
	delete(object, "key_hash")
	if k.Name.Text != "" {
		object["key"] = k.Name.Text
	} else {
		object["key_base64"] = k.Name.Base64
	}
	if k.Name.Missing {
		object["missing"] = true
	}
	return nil
}
