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
	// name tells documents from others. A whole one is named by its text, so that it is stored once.
	// One that is a patch is named by the base and the patch. So equal names are equal histories.
	name string

	base string // the name of the document that is patched; empty: it is whole
	data []byte // compressed
}

// encode returns a document, whole.
func encode(document *rules.Document) (*encodedDocument, error) {
	text, data, err := compress(document)
	if err != nil {
		return nil, err
	}
	return &encodedDocument{name: sum(text), data: data}, nil
}

// encodePatch returns a document as a patch of the one that is called base.
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
		_, _ = h.Write(text) // which never fails
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// compress returns v as JSON, and that compressed.
func compress(v any) (text, data []byte, err error) {
	if text, err = json.Marshal(v); err != nil {
		return nil, nil, err
	}
	var buffer bytes.Buffer
	w, _ := gzip.NewWriterLevel(&buffer, gzip.BestSpeed) // which is a level
	_, _ = w.Write(text)                                 // to memory
	_ = w.Close()
	if len(text) > maxText || buffer.Len() > maxDocument {
		return nil, nil, fmt.Errorf("the rules are too long to be stored, %d bytes: use fewer entries", len(text))
	}
	return text, buffer.Bytes(), nil
}

// decompress reads what compress has made into v, and returns how many bytes it has, at most most.
// The checksum of gzip shows that it is whole.
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

// decode returns a whole document.
func decode(data []byte) (*rules.Document, error) {
	document := new(rules.Document)
	if _, err := decompress(data, maxText, document); err != nil {
		return nil, err
	}
	return document, checked(document)
}

// checked returns an error if a document that was read is none that was ever written.
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

// patched returns a document, which is called base, with patches of it, the oldest first. Their
// names show that they belong to it.
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
