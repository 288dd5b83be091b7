package api

import "time"

// DefaultTail is how long a tail of decisions is if the request does not say.
const DefaultTail = "1m"

// The outcomes of decisions, as metrics, logs and tails call them.
const (
	Admitted    = "admitted"     // within the limit
	Rejected    = "rejected"     // 429
	Degraded    = "degraded"     // admitted by on_outage, as the store did not answer
	Unavailable = "unavailable"  // 503 by on_outage, as the store did not answer
	Allowed     = "allowed"      // past the zone by its allow_key list
	Denied      = "denied"       // 403 by its deny_key list, or for lack of a key; 400 if it is ambiguous
	WouldReject = "would_reject" // admitted by a dry run
	WouldDeny   = "would_deny"   // the same, in place of 403, 400, and 503 by adaptive
	Overloaded  = "overloaded"   // 503 by adaptive
	Queued      = "queued"       // within the limit, after it has waited for its turn
)

// Outcomes are all outcomes of decisions.
var Outcomes = []string{
	Admitted, Rejected, Degraded, Unavailable, Allowed, Denied, WouldReject, WouldDeny, Overloaded, Queued,
}

// The reasons of degraded and unavailable decisions: why the store did not decide.
const (
	CauseTimeout    = "timeout"           // it has not answered in time
	CauseBreaker    = "breaker_open"      // it has not answered lately, so it was not asked
	CauseConnection = "connection_failed" // a connection was refused, or broke
	CausePrimary    = "no_primary"        // no server is known for the key
	CauseQueue      = "queue_full"        // too many calls wait for it
	CauseMemory     = "out_of_memory"     // it has no memory left
	CauseClosed     = "closed"            // this node ends its connections
	CauseOther      = "store_error"       // it has answered with another error
)

// A DecisionLine is a line of a tail. Exactly one of its members is set.
type DecisionLine struct {
	*Decision

	// Dropped is how many decisions are missing here, because they came too fast.
	Dropped uint64 `json:"dropped,omitempty"`

	// End says that this is the last line, and why.
	End string `json:"end,omitempty"`
}

// The values of DecisionLine.End.
const (
	EndDuration = "duration" // the time that the request says is over
	EndLimit    = "limit"    // there are as many decisions as the request says
	EndReload   = "reload"   // Caddy loads a configuration, or stops
)

// A Decision is what was decided about a request. Key, Base64 and Missing are as inspect takes
// them.
type Decision struct {
	Time     time.Time `json:"time"`
	Zone     string    `json:"zone,omitempty"` // empty: the client's address has decided, before any zone
	Endpoint string    `json:"endpoint,omitempty"`
	Tier     string    `json:"tier,omitempty"`

	// TierUnknown is the tier that the request has, if the zone has no such tier.
	TierUnknown string `json:"tier_unknown,omitempty"`

	Outcome string `json:"outcome"`
	Source  string `json:"source,omitempty"`
	Reason  string `json:"reason,omitempty"` // why it is allowed or denied, or the store did not decide

	Key     string `json:"key,omitempty"`
	Base64  string `json:"key_base64,omitempty"`
	Missing bool   `json:"missing,omitempty"`
	Request

	Status    int    `json:"status,omitempty"` // 0 if the request goes on to the next handler
	WouldBe   int    `json:"would_be,omitempty"`
	Wait      Wait   `json:"wait,omitempty"`      // of a rejected request
	Waited    Wait   `json:"waited,omitempty"`    // of a queued one
	Cost      int64  `json:"cost,omitempty"`      // 0 for 1
	Limit     *int64 `json:"limit,omitempty"`     // nil if no count was needed
	Remaining *int64 `json:"remaining,omitempty"` // nil if it is unknown
}

// A Request is what logs, events and tails say about every request.
type Request struct {
	RemoteIP string `json:"remote_ip"`
	ClientIP string `json:"client_ip"`
	Method   string `json:"method"`
	Host     string `json:"host"`
	Path     string `json:"path"`
	KeyHash  string `json:"key_hash,omitempty"` // empty: the request has no key
}

// A Wait is how long a request is rejected. It is a text in JSON.
type Wait time.Duration

func (w Wait) String() string { return time.Duration(w).Round(time.Millisecond).String() }

// MarshalText implements encoding.TextMarshaler.
func (w Wait) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (w *Wait) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	*w = Wait(d)
	return err
}
