package api

import "cmp"

// A Plan is what a reload would change of the limits.
type Plan struct {
	Zones  []PlannedZone `json:"zones"`  // that change
	Rules  []string      `json:"rules"`  // what would not be in force any more, and why
	Resets bool          `json:"resets"` // some counts would start from zero
}

// A PlannedZone is what a reload would change of a zone.
type PlannedZone struct {
	Zone     string         `json:"zone"`
	Change   string         `json:"change"`             // ZoneAdded, ZoneRemoved or ZoneChanged
	Settings []string       `json:"settings,omitempty"` // of a changed zone, as JSON names them
	Limits   []PlannedLimit `json:"limits"`             // the same
	DryRun   string         `json:"dry_run,omitempty"`  // such as "100% is now off"; of an added zone such as "100%"

	// Masked are changes of the configuration without an effect, because rules decide in their place.
	Masked []string `json:"masked,omitempty"`

	// Reset is why counts would start from zero. Counts is how many of the keys that use the zone most on
	// this node have such counts.
	Reset  []string `json:"reset,omitempty"`
	Counts int      `json:"counts,omitempty"`

	// Above are the keys that would be above their new limit, or at their limit when their dry run ends,
	// among those that use the zone most on this node.
	Above []PlannedKey `json:"above,omitempty"`
}

// LimitTexts says which limits change, and how.
func (z *PlannedZone) LimitTexts() (texts []string) {
	for i := range z.Limits {
		texts = append(texts, z.Limits[i].String())
	}
	return texts
}

// How a zone changes.
const (
	ZoneAdded   = "added"
	ZoneRemoved = "removed"
	ZoneChanged = "changed"
)

// A PlannedKey is a key that has consumed more than its new limit, or all of it in a dry run.
type PlannedKey struct {
	ShownKey

	Limit    string `json:"limit"`
	Consumed int64  `json:"consumed"` // events

	DryRunEnds bool `json:"dry_run_ends,omitempty"` // requests of the key are rejected that a dry run admits
}

// A PlannedLimit is a limit in force that would change.
type PlannedLimit struct {
	Endpoint string `json:"endpoint,omitempty"`
	Tier     string `json:"tier,omitempty"`
	Missing  bool   `json:"missing,omitempty"` // for requests without a key
	From     string `json:"from,omitempty"`    // empty: there is none
	To       string `json:"to,omitempty"`
}

// String says how a limit changes.
func (l *PlannedLimit) String() string {
	where := "the rest of the zone"
	if l.Endpoint != "" {
		where = l.Endpoint
	}
	if l.Tier != "" {
		where += " tier " + l.Tier
	}
	if l.Missing {
		where += " without a key"
	}
	return where + ": " + cmp.Or(l.From, "none") + " is now " + cmp.Or(l.To, "none")
}
