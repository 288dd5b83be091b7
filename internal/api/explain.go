package api

// An ExplainRequest is the body of POST /rate_limit/explain: a request as a client could send it.
type ExplainRequest struct {
	Method  string              `json:"method,omitempty"` // default: GET
	URI     string              `json:"uri,omitempty"`    // a path, or an address such as https://example.com/export
	Host    string              `json:"host,omitempty"`   // default: that of the address, or of the site
	Headers map[string][]string `json:"headers,omitempty"`
	From    string              `json:"from,omitempty"` // the address of the client. Default: 127.0.0.1

	// Set has the values of placeholders that other handlers would provide.
	Set map[string]string `json:"set,omitempty"`

	Server string `json:"server,omitempty"` // its name in the configuration. Default: by the port, or the only one
}

// An Explanation is what would happen to a request, and why.
type Explanation struct {
	Request  ExplainedRequest   `json:"request"`
	Version  int64              `json:"version"`  // of the rules
	Handlers []ExplainedHandler `json:"handlers"` // that the request comes to
	Missed   []MissedHandler    `json:"missed"`   // that it does not come to
	Unknown  []string           `json:"unknown"`  // what would show only if other handlers ran
	Response ExplainedResponse  `json:"response"`
}

// An ExplainedRequest is the request as its server gets it.
type ExplainedRequest struct {
	Server   string `json:"server"`
	Method   string `json:"method"`
	URI      string `json:"uri"`
	Host     string `json:"host"`
	TLS      bool   `json:"tls"`
	RemoteIP string `json:"remote_ip"`
	ClientIP string `json:"client_ip"` // behind proxies that the server trusts
}

// An ExplainedHandler is a rate_limit that a request comes to.
type ExplainedHandler struct {
	Place     string          `json:"place,omitempty"` // in the Caddyfile
	Path      string          `json:"path"`            // of the request there
	Outcome   string          `json:"outcome"`
	Status    int             `json:"status,omitempty"` // 0 if the request goes on
	Access    *DecidedBy      `json:"access,omitempty"` // what the client's address decides
	Emergency bool            `json:"emergency,omitempty"`
	Zones     []ExplainedZone `json:"zones"`
}

// An ExplainedZone is what a zone finds in a request.
type ExplainedZone struct {
	Zone    string `json:"zone"`
	Applies bool   `json:"applies"`
	Why     string `json:"why,omitempty"`     // it does not apply, or refuses the request
	Outcome string `json:"outcome,omitempty"` // empty: it does not apply
	DryRun  bool   `json:"dry_run,omitempty"`
	Path    string `json:"path,omitempty"` // that the zone matches; empty: it tells no paths apart

	Key      string          `json:"key,omitempty"`
	Base64   string          `json:"key_base64,omitempty"`
	Missing  bool            `json:"missing,omitempty"`      // the key stands in for one
	Template string          `json:"key_template,omitempty"` // that made the key
	Values   []ExplainedRead `json:"values"`

	Access      *DecidedBy       `json:"access,omitempty"` // what the key decides
	Tier        *DecidedBy       `json:"tier,omitempty"`
	TierUnknown string           `json:"tier_unknown,omitempty"` // that the request has, if the zone has no such tier
	Limits      []ExplainedLimit `json:"limits"`

	Concurrent []ExplainedConcurrent `json:"concurrent,omitempty"` // limits of requests at once
	Adaptive   *Adaptive             `json:"adaptive,omitempty"`   // nil if the zone has none, or lets the request pass
	Rejection  []ExplainedText       `json:"rejection,omitempty"`  // what the zone would add to a rejection
}

// An ExplainedText is a text that a zone adds to its rejections: a header, or a member of the body.
type ExplainedText struct {
	Setting string `json:"setting"` // such as "reject_header X-Support"
	Text    string `json:"text"`    // for this request
}

// An ExplainedRead is the value of a placeholder that a zone reads.
type ExplainedRead struct {
	Of          string `json:"of"` // key, on_missing_key, tier, cost or reserve
	Placeholder string `json:"placeholder"`
	Value       string `json:"value,omitempty"`
	Presence    string `json:"presence"` // present, missing or ambiguous

	// Unknown says that a handler would provide it which does not run here.
	Unknown bool `json:"unknown,omitempty"`
}

// An ExplainedLimit is a limit that a request falls under, and what it would decide.
type ExplainedLimit struct {
	Rule InspectedCount `json:"rule"`
	Cost int64          `json:"cost"` // 0 if it counts nothing, or the request has been charged before
	ExplainedDecision

	CountStatus string `json:"count_status,omitempty"` // the statuses with which it counts; empty: all

	// Charge is what it is charged after its response, in place of Cost, which it reserves; empty:
	// Cost.
	Charge string `json:"charge,omitempty"`
}

// An ExplainedConcurrent is a limit of requests at once, and what it would decide about one more.
type ExplainedConcurrent struct {
	Rule InspectedConcurrent `json:"rule"`
	Held bool                `json:"held,omitempty"` // the request is counted by an earlier handler
	ExplainedDecision
}

// An ExplainedDecision is what a limit would decide about a request.
type ExplainedDecision struct {
	Outcome   string `json:"outcome"`
	Source    string `json:"source,omitempty"`
	Remaining *int64 `json:"remaining,omitempty"` // before the request; nil if it is unknown, or no count is needed
	Wait      Wait   `json:"wait,omitempty"`
}

// A MissedHandler is a rate_limit that a request does not come to.
type MissedHandler struct {
	Place string   `json:"place,omitempty"`
	Zones []string `json:"zones"`
	Why   string   `json:"why"`
}

// An ExplainedResponse is what the client would get.
type ExplainedResponse struct {
	By      string            `json:"by,omitempty"` // the directive that answers
	Place   string            `json:"place,omitempty"`
	Status  int               `json:"status,omitempty"`  // 0 if what answers would say it
	Headers map[string]string `json:"headers,omitempty"` // of the response if rate_limit answers
	Body    string            `json:"body,omitempty"`    // of rate_limit
}
