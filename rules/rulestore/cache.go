package rulestore

import (
	"sync"

	"github.com/fleetlimit/fleetlimit/rules"
)

const (
	// patchFrom is how many entries a document has at least that is stored as a patch. Shorter ones
	// are written as quickly whole.
	patchFrom = 1000

	// patchPart is how many times more entries it has than its patch, at least.
	patchPart = 16

	// mostPatches is after how many patches in a row a document is stored whole, too.
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

// encode returns a document to write. It has no data if it is the known one, and is a patch of that
// if it is long and the patch is short.
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
