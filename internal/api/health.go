package api

import "errors"

// The probes: what a health check asks.
const (
	ProbeLive    = "live"
	ProbeServing = "serving"
	ProbeReady   = "ready"
)

// Probes are all of them, the least first.
var Probes = []string{ProbeLive, ProbeServing, ProbeReady}

// A HealthStatus is what health checks answer.
type HealthStatus string

// The values of HealthStatus.
const (
	HealthOK       HealthStatus = "ok"
	HealthDegraded HealthStatus = "degraded" // requests are served, but limits may not be exact
	HealthDraining HealthStatus = "draining" // requests are served, but soon they will not be
)

// Worse returns the worse of two statuses.
func (s HealthStatus) Worse(t HealthStatus) HealthStatus {
	for _, status := range []HealthStatus{HealthDraining, HealthDegraded} {
		if s == status || t == status {
			return status
		}
	}
	return HealthOK
}

// A Readiness is the health of the stores of a node. Those in memory are always healthy, and
// left out.
type Readiness struct {
	Status HealthStatus  `json:"status"`
	Stores []StoreHealth `json:"stores"`

	// UnreadRules are those that were never read, from their store or a copy: none is in force.
	UnreadRules []UnreadRules `json:"unread_rules,omitempty"`
}

// UnreadRules say where rules are that were never read, and why.
type UnreadRules struct {
	Store string `json:"store"`
	Error string `json:"error"`
}

// AddUnreadRules adds rules of a store that has failed with err, or has not answered yet if err is nil.
func (r *Readiness) AddUnreadRules(store string, err error) {
	if err == nil {
		err = errors.New("the store has not answered yet")
	}
	r.Status = r.Status.Worse(HealthDegraded)
	r.UnreadRules = append(r.UnreadRules, UnreadRules{store, err.Error()})
}

// A StoreHealth is the health of a Redis, by its primaries.
type StoreHealth struct {
	Store     string          `json:"store"`
	Status    HealthStatus    `json:"status"`
	Error     string          `json:"error,omitempty"`
	Primaries []PrimaryHealth `json:"primaries"`
}

// A PrimaryHealth is the health of a primary of Redis, as the node sees it.
type PrimaryHealth struct {
	Address   string       `json:"address"`
	Status    HealthStatus `json:"status"`
	Breaker   string       `json:"breaker"`
	LatencyMS float64      `json:"latency_ms"` // of the newest answer; 0 if there was none
	Error     string       `json:"error,omitempty"`

	// The memory that it uses, and its maxmemory if it has one. Both are 0 if it has not said so lately.
	MemoryBytes    int64 `json:"memory_bytes,omitempty"`
	MaxMemoryBytes int64 `json:"max_memory_bytes,omitempty"`
}

// A Health is what anybody may know about the health.
type Health struct {
	Status HealthStatus `json:"status"`
}
