package adminapi

import (
	"net/http"
	"time"
)

// A Top lists the keys that use a zone most on this node, the greatest use first.
type Top struct {
	Zone string   `json:"zone"`
	Node string   `json:"node"` // whose view it is
	By   string   `json:"by"`   // the member of keys that says how much
	Keys []TopKey `json:"keys"`
}

// The values of Top.By.
const (
	ByDemand   = "demand_per_second" // with Redis
	ByConsumed = "consumed"          // in memory
)

// A TopKey is how much a key uses an endpoint, or the rest of the zone.
type TopKey struct {
	Key      string `json:"key,omitempty"`
	Base64   string `json:"key_base64,omitempty"`
	Stored   string `json:"key_stored,omitempty"` // if neither of them names the key
	Missing  bool   `json:"missing,omitempty"`
	Endpoint string `json:"endpoint,omitempty"`
	Limit    string `json:"limit"`

	Demand   *float64 `json:"demand_per_second,omitempty"`
	Consumed *int64   `json:"consumed,omitempty"`

	Denied  bool       `json:"denied"`
	RetryAt *time.Time `json:"retry_at,omitempty"`
}

// How many keys a Top has.
const (
	DefaultTop = 20
	MaxTop     = 1000
)

// getTop answers GET /rate_limit/zones/{zone}/top.
func getTop(p Process, w http.ResponseWriter, r *http.Request) error {
	c, zone, err := zoneOf(p, r)
	if err != nil {
		return err
	}
	most, err := queryInt(r, "limit", DefaultTop, 1)
	if err != nil {
		return err
	}
	if most > MaxTop {
		return apiError(http.StatusBadRequest, "limit is %d: use 1 to %d", most, MaxTop)
	}
	endpoint := r.URL.Query().Get("endpoint")
	if err := checkEndpoint(c, zone, endpoint); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, c.Top(zone, endpoint, int(most)))
	return nil
}
