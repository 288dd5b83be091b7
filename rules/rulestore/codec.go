package rulestore

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/fleetlimit/fleetlimit/rules"
)

// nameLength is the length of a document's name, in hexadecimal digits.
const nameLength = 2 * sha256.Size

// An encodedDocument is a document as it is stored: whole, or as a patch of another one.
type encodedDocument struct {
	// name identifies the document. It is the hash of the text of a whole document, so that equal
	// documents are stored once. The name of a patch is the hash of the base's name and the patch. So
	// equal names stand for equal histories.
	name string

	base string // name of the document that data is a patch of; "" if data is a whole document
	data []byte // compressed
}

// encode encodes a document whole.
func encode(document *rules.Document) (*encodedDocument, error) {
	text, data, err := compress(document)
	if err != nil {
		return nil, err
	}
	return &encodedDocument{name: sum(text), data: data}, nil
}

// encodePatch encodes a document as a patch of the document with the name base.
func encodePatch(base string, p *rules.Patch) (*encodedDocument, error) {
	_, data, err := compress(p)
	if err != nil {
		return nil, err
	}
	return &encodedDocument{name: patchedName(base, data), base: base, data: data}, nil
}

func patchedName(base string, patch []byte) string { return sum([]byte(base), patch) }

func sum(texts ...[]byte) string {
	h := sha256.New()
	for _, text := range texts {
		_, _ = h.Write(text) // a hash never fails
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// compress returns v as JSON, and the same JSON compressed.
func compress(v any) (text, data []byte, err error) {
	if text, err = json.Marshal(v); err != nil {
		return nil, nil, err
	}
	var buffer bytes.Buffer
	w, _ := gzip.NewWriterLevel(&buffer, gzip.BestSpeed) // the level is valid
	_, _ = w.Write(text)                                 // a write to memory never fails
	_ = w.Close()
	if len(text) > maxText || buffer.Len() > maxDocument {
		return nil, nil, fmt.Errorf("the rules are too long to be stored, %d bytes: use fewer entries", len(text))
	}
	return text, buffer.Bytes(), nil
}

// decompress decodes into v what compress has made, and returns how many bytes of JSON it is. It
// refuses more than most bytes. The checksum of gzip shows that data is whole.
func decompress(data []byte, most int, v any) (size int, err error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return 0, damaged(err)
	}
	text, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	switch {
	case err != nil:
	case len(text) > most:
		err = fmt.Errorf("they have more than %d bytes", most)
	default:
		err = rules.Unmarshal(text, v)
	}
	if err != nil {
		return 0, damaged(err)
	}
	return len(text), nil
}

// decode decodes a whole document.
func decode(data []byte) (*rules.Document, error) {
	document := new(rules.Document)
	if _, err := decompress(data, maxText, document); err != nil {
		return nil, err
	}
	return document, checked(document)
}

// checked returns an error if no node can have written a document that was read.
func checked(document *rules.Document) error {
	if err := document.CheckObjects(); err != nil {
		return damaged(err)
	}
	return nil
}

// A storedPatch is a patch, and the name of the document that it makes.
type storedPatch struct {
	name string
	data []byte
}

// patched returns a document, whose name is base, after the patches, of which the oldest is first.
// The names of the patches show that they belong to the document.
func patched(document *rules.Document, base string, patches []storedPatch) (*rules.Document, error) {
	room := maxPatched
	for _, stored := range patches {
		if patchedName(base, stored.data) != stored.name {
			return nil, damaged(errors.New("a change is not the one that was written"))
		}
		p := new(rules.Patch)
		size, err := decompress(stored.data, min(room, maxText), p)
		if err != nil {
			return nil, err
		}
		next, err := p.Apply(document)
		if err != nil {
			return nil, damaged(err)
		}
		if err := checked(next); err != nil {
			return nil, err
		}
		document, base, room = next, stored.name, room-size
	}
	return document, nil
}

func damaged(err error) error { return fmt.Errorf("the stored rules are damaged: %w", err) }
