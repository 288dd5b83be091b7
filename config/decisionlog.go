package config

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/caddyserver/caddy/v2"
)

// DecisionLog records decisions about requests. Records have the keys of requests only if the
// handler has `log_key`.
type DecisionLog struct {
	// Where records go: `log` is the logger `rate_limit.decisions` in Caddy's log, and `postgres` is a
	// table in the PostgreSQL that has the rules. Default: the log, and also the table if the rules
	// are in PostgreSQL.
	To []string `json:"to,omitempty"`

	// Records this fraction, 0 to 1, or percentage, such as `1%`, of the decisions that let requests
	// pass. Default: 0.01.
	Admitted *Fraction `json:"admitted,omitempty"`

	// Records this fraction, or percentage, of the other decisions. The first rejection of each key
	// and window is always recorded. Default: 1.
	Rejected *Fraction `json:"rejected,omitempty"`

	// Keeps records in the table for this long, at least 1m. Default: 7d.
	Keep caddy.Duration `json:"keep,omitempty"`

	// The file and line of the setting in the Caddyfile, for errors. The Caddyfile adapter sets it.
	Place string `json:"place,omitempty"`
}

// The values of DecisionLog.To.
const (
	DecisionsToLog      = "log"
	DecisionsToPostgres = "postgres"
)

const (
	defaultKeep = 7 * 24 * time.Hour
	leastKeep   = time.Minute
)

// check refuses settings that are wrong or have no effect. store is the store of the rules; nil
// stands for the default store.
func (l *DecisionLog) check(store *RuleStore) error {
	if l == nil {
		return nil
	}
	for i, to := range l.To {
		switch {
		case !slices.Contains(words["decisions"], to):
			return unknownWord("decisions", to)
		case slices.Contains(l.To[:i], to):
			return fmt.Errorf("decisions go to %s twice: use it once", to)
		}
	}
	inPostgres := store != nil && store.Name == RulesInPostgres
	switch {
	case slices.Contains(l.To, DecisionsToPostgres) && !inPostgres:
		return errors.New("decisions go to the PostgreSQL that has the rules, and there is none: use `rules postgres <url>` in " +
			"the global option rate_limit, or `decisions log`")
	case l.Keep != 0 && !slices.Contains(l.Sinks(store), DecisionsToPostgres):
		return errors.New("keep is for decisions in PostgreSQL, and these go to the log: use roll_keep_for of its output, or " +
			"`decisions postgres`")
	case l.Keep != 0 && time.Duration(l.Keep) < leastKeep:
		return fmt.Errorf("keep is %v: use 1m or more, such as 7d", time.Duration(l.Keep))
	}
	for name, f := range map[string]*Fraction{"admitted": l.Admitted, "rejected": l.Rejected} {
		if f != nil && !(*f >= 0 && *f <= 1) { // NaN is refused, too
			return fmt.Errorf("%s is %v: use a fraction from 0 to 1, such as 0.01 for 1%%", name, *f)
		}
	}
	return nil
}

// Sinks returns where records go. store is the store of the rules; nil stands for the default
// store.
func (l *DecisionLog) Sinks(store *RuleStore) []string {
	switch {
	case len(l.To) > 0:
		return l.To
	case store != nil && store.Name == RulesInPostgres:
		return words["decisions"]
	}
	return []string{DecisionsToLog}
}

// Shares returns the fractions of decisions that are recorded: admitted of those that let requests
// pass, and rejected of the others.
func (l *DecisionLog) Shares() (admitted, rejected float64) {
	admitted, rejected = 0.01, 1
	if l.Admitted != nil {
		admitted = float64(*l.Admitted)
	}
	if l.Rejected != nil {
		rejected = float64(*l.Rejected)
	}
	return admitted, rejected
}

// KeepFor returns how long records stay in the table.
func (l *DecisionLog) KeepFor() time.Duration {
	if l.Keep == 0 {
		return defaultKeep
	}
	return time.Duration(l.Keep)
}
