package rulestore

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/fleetlimit/fleetlimit/rules"
)

// nameLength is the length of a document's name: its SHA-256 in hexadecimal digits.
const nameLength = 2 * sha256.Size

// A documentCache has the document that was read or written last. Most reads and many writes are
// about that one. Documents do not change, so one that is known by its address or name need not be
// encoded or read again. The zero value is empty.
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

// nameOf returns the name of a document if it is the known one, and else an empty text.
func (c *documentCache) nameOf(document *rules.Document) string {
	if known, name := c.get(); known == document {
		return name
	}
	return ""
}

// encode returns the name of a document, and the document compressed.
func encode(document *rules.Document) (name string, compressed []byte, err error) {
	text, err := json.Marshal(document)
	if err != nil {
		return "", nil, err
	}
	var buffer bytes.Buffer
	w, _ := gzip.NewWriterLevel(&buffer, gzip.BestSpeed) // which is a level
	_, _ = w.Write(text)                                 // to memory
	_ = w.Close()
	if len(text) > maxText || buffer.Len() > maxDocument {
		return "", nil, fmt.Errorf("the rules are too long to be stored, %d bytes: use fewer entries", len(text))
	}
	return fmt.Sprintf("%x", sha256.Sum256(text)), buffer.Bytes(), nil
}

// decode returns the document that encode has compressed. Its name shows that it is whole.
func decode(name string, compressed []byte) (*rules.Document, error) {
	r, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, damaged(err)
	}
	text, err := io.ReadAll(io.LimitReader(r, maxText+1))
	if err != nil {
		return nil, damaged(err)
	}
	if fmt.Sprintf("%x", sha256.Sum256(text)) != name {
		return nil, damaged(errors.New("it is not the text that was written"))
	}
	document := new(rules.Document)
	if err := json.Unmarshal(text, document); err != nil {
		return nil, damaged(err)
	}
	return document, nil
}

func damaged(err error) error { return fmt.Errorf("the stored rules are damaged: %w", err) }

// withoutDocument returns v as it is stored beside its document.
func withoutDocument(v *rules.Version) rules.Version {
	c := *v
	c.Document = nil
	return c
}
