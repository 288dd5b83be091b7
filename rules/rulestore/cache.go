package rulestore

import (
	"sync"

	"github.com/fleetlimit/fleetlimit/rules"
)

const (
	// patchFrom is the least number of entries of a document that is stored as a patch. A shorter
	// document is written as quickly whole.
	patchFrom = 1000

	// patchPart is the least ratio of the entries of a document to those of its patch.
	patchPart = 16

	// mostPatches is the number of patches in a row after which a document is stored whole, too.
	mostPatches = 100
)

// A documentCache has the document that was read or written last. Most reads and writes are about
// that one or the next. Documents do not change, so one that is known by its address or name need
// not be encoded or read again. The zero value is empty.
type documentCache struct {
	mu       sync.Mutex
	document *rules.Document
	name     string
}

func (c *documentCache) set(document *rules.Document, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.document, c.name = document, name
}

func (c *documentCache) get() (document *rules.Document, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.document, c.name
}

// encode encodes a document to write. The result has no data if the document is the known one. It
// is a patch of the known one if the document is long and the patch is short.
func (c *documentCache) encode(document *rules.Document) (*encodedDocument, error) {
	known, name := c.get()
	if known == document {
		return &encodedDocument{name: name}, nil
	}
	if all := document.Entries(); known != nil && all >= patchFrom {
		if p := rules.NewPatch(known, document); p.Entries()*patchPart <= all {
			return encodePatch(name, p)
		}
	}
	return encode(document)
}
