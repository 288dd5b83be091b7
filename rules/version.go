package rules

import (
	"context"
	"errors"
	"time"
)

// A Version is a document with who wrote it, when and why. Versions count from 1. The zero Version
// is what a store has before anything was written.
type Version struct {
	Number int64     `json:"version"`
	Time   time.Time `json:"time,omitzero"`
	Author string    `json:"author,omitempty"`
	Note   string    `json:"note,omitempty"`

	// Summary says what the version changed, in a line.
	Summary string `json:"summary,omitempty"`

	// Lineage is the ID of the history that the version belongs to. The first version in an empty
	// store begins a new lineage, and each later version has the lineage of the version before it. So
	// lineages tell rules that were made anew, in a store that had lost everything, from older rules
	// with the same numbers.
	Lineage string `json:"lineage,omitempty"`

	// Actions were done to counts with this version. They do not change the document.
	Actions []Action `json:"actions,omitempty"`

	// Document must not be changed: requests read it.
	Document *Document `json:"document,omitempty"`
}

// WithoutDocument returns v as stores keep it beside its document.
func (v *Version) WithoutDocument() *Version {
	without := *v
	without.Document = nil
	return &without
}

// The values of Action.Kind.
const (
	Reset    = "reset"     // the key has its full limit again
	AddQuota = "add_quota" // the key gets back Events of what it has consumed
)

// An Action is a change of the counts of a key. The node that writes the version does it in the
// store of the counts; all nodes then drop what they know about the key.
type Action struct {
	Kind string `json:"kind"`
	Key

	// Stored is the key as the store of the counts has it, in base64, in place of a text. Some keys
	// have no text that names them.
	Stored   string `json:"key_stored,omitempty"`
	Endpoint string `json:"endpoint,omitempty"` // "" for the whole zone
	Events   int64  `json:"events,omitempty"`   // of AddQuota
}

var (
	// ErrConflict reports that somebody else wrote the version first.
	ErrConflict = errors.New("rules: the rules have changed meanwhile")

	// ErrUnavailable reports that a store does not answer, or answers with an error of its own. What
	// was to be written may have been written.
	ErrUnavailable = errors.New("rules: the store cannot be reached")

	// ErrNotFound reports that a store has no such version, or not any more.
	ErrNotFound = errors.New("rules: no such version")
)

// A VersionStore keeps versions: all, or the newest ones of them. What it acknowledges outlives
// crashes of nodes. It is safe for concurrent use. Documents that it returns may be shared, and
// must not be changed.
type VersionStore interface {
	// Name says what the store is, for logs and metrics: "storage", "redis", "postgres".
	Name() string

	// Latest returns the newest version, complete. It returns the zero Version, with an empty
	// document, if there is none.
	Latest(ctx context.Context) (*Version, error)

	// Version returns a version, complete, or ErrNotFound. There is no version 0.
	Version(ctx context.Context, number int64) (*Version, error)

	// History returns up to limit versions below before, the newest first, without their documents.
	// before = 0 starts at the newest.
	History(ctx context.Context, before int64, limit int) ([]*Version, error)

	// Write adds a version if the number of the newest one is after, which is below v.Number, and
	// returns ErrConflict otherwise. v.Number is after + 1, except when v is written back to a store
	// that has lost it. A number below after adds v to the history, unless there is a version of that
	// number, or the store does not take back old versions.
	Write(ctx context.Context, v *Version, after int64) error

	// Watch calls changed soon after a version was written by anyone, until ctx ends. It may miss
	// versions, and it may call without a new version, so a [Watcher] polls as well. It calls once
	// when it begins to watch. It returns an error if the store cannot announce now.
	Watch(ctx context.Context, changed func()) error

	// Close releases what the store holds.
	Close() error
}

// equals reports whether two versions are the same one.
func (v *Version) equals(other *Version) bool {
	return v.Number == other.Number && v.Lineage == other.Lineage && v.Time.Equal(other.Time) &&
		v.Author == other.Author && v.Note == other.Note
}

// replaces reports whether a node that knows the version known follows v, the newest version of the
// store. If not, the store has lost known.
func (v *Version) replaces(known *Version) bool {
	return v.Number >= known.Number || v.Number > 0 && v.Lineage != known.Lineage
}
