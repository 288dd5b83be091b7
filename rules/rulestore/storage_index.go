package rulestore

import (
	"slices"

	"github.com/fleetlimit/fleetlimit/rules"
)

// A storageIndex is what a Storage keeps beside the documents.
type storageIndex struct {
	Versions  []storedVersion           `json:"versions"` // the oldest first
	Documents map[string]storedDocument `json:"documents"`
}

// A storedVersion is a version without its document.
type storedVersion struct {
	rules.Version
	Name string `json:"document_name"`
}

// A storedDocument says how a document is stored: whole, as a patch, or as both.
type storedDocument struct {
	Whole int    `json:"size,omitempty"`       // size of the whole document, compressed; 0 if it is not stored whole
	Patch int    `json:"patch_size,omitempty"` // size of the patch, compressed; 0 if there is none
	Base  string `json:"base,omitempty"`       // name of the document that the patch changes
}

// newest returns the number of the newest version.
func (x *storageIndex) newest() int64 {
	if len(x.Versions) == 0 {
		return 0
	}
	return x.Versions[len(x.Versions)-1].Number
}

// path returns the names of the patches that lead to a document, the oldest first, and the name of
// the document that they begin with: the known document if possible, or else one that is stored
// whole. found is false if no patches lead to the document.
func (x *storageIndex) path(name, known string) (base string, patches []string, found bool) {
	length := 0 // number of patches that lead from base
	for at := name; ; at = x.Documents[at].Base {
		d := x.Documents[at]
		if at == known {
			base, length, found = known, len(patches), true
			break
		}
		if !found && d.Whole > 0 {
			base, length, found = at, len(patches), true
		}
		if d.Patch == 0 {
			break
		}
		patches = append(patches, at)
	}
	patches = patches[:length]
	slices.Reverse(patches)
	return base, patches, found
}

// trimmed returns x without the versions that are not to be kept, and without the documents that no
// kept version needs.
func (x *storageIndex) trimmed(l limits) *storageIndex {
	kept := &storageIndex{Documents: make(map[string]storedDocument)}
	size := 0
	for i := len(x.Versions) - 1; i >= 0; i-- {
		needed := make(map[string]storedDocument)
		for at := x.Versions[i].Name; ; at = x.Documents[at].Base {
			d, found := x.Documents[at]
			if _, known := kept.Documents[at]; known || !found {
				break
			}
			needed[at] = d
			size += d.Whole + d.Patch
			if d.Whole > 0 {
				break
			}
		}
		if n := len(kept.Versions); n > 0 && (n == l.versions || size > l.bytes) {
			break
		}
		for name, d := range needed {
			kept.Documents[name] = d
		}
		kept.Versions = append(kept.Versions, x.Versions[i])
	}
	slices.Reverse(kept.Versions)
	return kept
}
