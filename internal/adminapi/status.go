package adminapi

import "time"

// A Status is what an operator wants to know first.
type Status struct {
	Status    HealthStatus `json:"status"`
	Store     string       `json:"store"` // of the counts
	Nodes     int          `json:"nodes"`
	Zones     int          `json:"zones"`
	Rules     RulesStatus  `json:"rules"`
	Emergency Emergency    `json:"emergency"`
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
	FailedPolls int64      `json:"failed_polls"`
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
