package main

import (
	"fmt"
	"slices"
	"strings"
)

// A spelling is a text that a client writes in place of a key.
type spelling struct {
	kind  string // query, cookie or header
	key   string // the name of the key
	value string // the value of the key; "" if any value will do
	text  string // the query, the cookie or the value of the header, as the client writes it
}

// String returns a spelling in the form of the tables. A name is shown without a value.
func (s spelling) String() string {
	switch {
	case s.value == "":
		return fmt.Sprintf("%s %s %q", s.kind, s.key, strings.TrimSuffix(s.text, "=v"))
	default:
		return fmt.Sprintf("%s %q %q", s.kind, s.value, strings.TrimPrefix(s.text, s.key+"="))
	}
}

// sorted returns spellings in the order of a table, each once.
func sorted(all []spelling) []spelling {
	slices.SortFunc(all, func(a, b spelling) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(all)
}

// written returns the ways to write a byte.
func written(c byte) []string {
	escaped := fmt.Sprintf("%%%02X", c)
	if c < ' ' && c != '\t' || c == 0x7f {
		return []string{escaped} // Go's server refuses the byte itself
	}
	return []string{string([]byte{c}), escaped}
}
