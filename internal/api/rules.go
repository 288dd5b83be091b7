package api

import (
	"time"

	"github.com/fleetlimit/fleetlimit/rules"
)

// A Versions lists versions, the newest first.
type Versions struct {
	Versions []*rules.Version `json:"versions"`

	// Next is the value of before that lists further versions, or 0 if there are none.
	Next int64 `json:"next,omitempty"`
}

// A Version is a version with its differences from the one before it.
type Version struct {
	*rules.Version
	Changes []rules.Difference `json:"changes,omitempty"`
	More    int                `json:"more,omitempty"`
}

// A Diff has the differences of two versions.
type Diff struct {
	From    int64              `json:"from"`
	To      int64              `json:"to"`
	Changes []rules.Difference `json:"changes"`
	More    int                `json:"more,omitempty"`
}

// How many versions an answer lists.
const (
	DefaultVersions = 100
	MaxVersions     = 1000
)

// A WrittenVersion describes a version that was written, or would be.
type WrittenVersion struct {
	Version int64              `json:"version"`
	Time    time.Time          `json:"time"`
	Author  string             `json:"author"`
	Note    string             `json:"note,omitempty"`
	DryRun  bool               `json:"dry_run,omitempty"`
	Changes []rules.Difference `json:"changes"`

	// More is how many further changes there are.
	More int `json:"more,omitempty"`

	// Limits are those that the key of an override would have with it.
	Limits []OverriddenLimit `json:"limits,omitempty"`

	// Warnings say why it has probably no effect.
	Warnings []string `json:"warnings,omitempty"`
}

// An OverriddenLimit is a limit that the key of an override has with it.
type OverriddenLimit struct {
	Endpoint string `json:"endpoint,omitempty"` // "" for the rest of the zone
	Tier     string `json:"tier,omitempty"`     // if the key may have several
	Limit    string `json:"limit"`
	Was      string `json:"was"` // without the override
}

// How many entries of a list of the rules an answer lists.
const (
	DefaultEntries = 1000
	MaxEntries     = 10_000
)
