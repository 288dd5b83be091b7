package api

import "time"

// A Status is what an operator wants to know first.
type Status struct {
	Readiness
	Mismatches []Mismatch `json:"mismatches,omitempty"`

	// UntrustedProxy was noticed first since the configuration has been loaded.
	UntrustedProxy *UntrustedProxy `json:"untrusted_proxy,omitempty"`

	Store     string      `json:"store"` // of the counts
	Nodes     int         `json:"nodes"`
	Zones     int         `json:"zones"`
	Rules     RulesStatus `json:"rules"`
	Emergency Emergency   `json:"emergency"`
}

// An UntrustedProxy is what seems to be a proxy whose clients Caddy does not know, so that a zone
// counts all of them as one.
type UntrustedProxy struct {
	Zone    string `json:"zone"`
	Address string `json:"address"` // of the proxy
	Header  string `json:"header"`  // by which it says for whom it forwards

	// Cause is why Caddy does not know its clients: untrusted, header_not_read or no_client_address.
	Cause ProxyCause `json:"cause"`
}

// A ProxyCause is why Caddy does not know the clients of a proxy.
type ProxyCause string

// The causes.
const (
	UntrustedPeer   ProxyCause = "untrusted"
	HeaderNotRead   ProxyCause = "header_not_read"
	NoClientAddress ProxyCause = "no_client_address"
)

// Text returns what is wrong, and the remedy.
func (c ProxyCause) Text() string {
	switch c {
	case HeaderNotRead:
		return "a trusted proxy sends the client's address in a header that Caddy does not read, so the zone counts all of its " +
			"clients as one: use client_ip_headers with that header in the global option servers"
	case NoClientAddress:
		return "the header of a trusted proxy has no address of a client, so the zone counts all of its clients as one: use a " +
			"proxy that sends the client's address, which must not be among trusted_proxies"
	}
	return "what seems to be a proxy is not trusted, so the zone counts all of its clients as one: use trusted_proxies and " +
		"trusted_proxies_strict in the global option servers"
}

// A Mismatch is a zone that another node defines differently.
type Mismatch struct {
	Zone     string   `json:"zone"`
	Node     string   `json:"node"`
	Settings []string `json:"settings"` // that differ
	Nodes    int      `json:"nodes"`    // that define it so
}

// A RulesStatus is what this node knows of the rules.
type RulesStatus struct {
	Store       string     `json:"store"`
	Version     int64      `json:"version"`
	Time        *time.Time `json:"time,omitempty"`
	Author      string     `json:"author,omitempty"`
	Overrides   int        `json:"overrides"`
	Tiers       int        `json:"tiers"`
	Access      int        `json:"access"`
	FailedPolls int64      `json:"failed_polls"`    // since the last good one
	Error       string     `json:"error,omitempty"` // of the newest of them
}

// A Nodes lists the nodes that share the counts.
type Nodes struct {
	// Count is what limits are shared by. It falls some seconds after a node has gone, and is fixed by
	// the setting nodes.
	Count int    `json:"count"`
	Self  string `json:"self"`
	Nodes []Node `json:"nodes"`
}

// A Node is one of the nodes that share the counts.
type Node struct {
	Name    string `json:"name"`
	SeenAgo string `json:"seen_ago,omitempty"`
}
