// Package rulestore has the stores of package rules: Caddy's storage, Redis, and PostgreSQL.
//
// Caddy's storage and Redis keep the newest 200 versions, and fewer when their documents take more
// than 64 MB. A document is compressed, and kept once for all versions that have it: a reset, for
// example, does not change the document. PostgreSQL keeps what each version has changed, for the
// newest 1000 versions: see [Postgres].
//
// Somebody who has broken into a store may have written what it returns. So what is read is checked
// against the bounds of what may be written, before it takes more memory than these permit.
package rulestore

const (
	// maxDocument is the most bytes of a document, compressed. One with 100,000 overrides has some
	// 2 MB.
	maxDocument = 32 << 20

	// maxText is the most bytes of a document, not compressed: 300 for each of as many entries as a
	// list may have.
	maxText = 64 << 20

	// maxPatched is the most bytes of all patches that make one document, not compressed.
	maxPatched = 8 * maxText
)

// limits are how much a store keeps, at most. The newest version is always kept.
type limits struct {
	versions int
	bytes    int // size of all documents, compressed
}

var defaultLimits = limits{versions: 200, bytes: 64 << 20}
