package main

import (
	"fmt"
	"slices"
	"strings"
)

// A spelling is a name that a client writes in place of that of a key.
type spelling struct {
	kind string // query or cookie
	key  string
	name string // as the client writes it
}

// keys are names of keys. Some have bytes that are no letters, and beginnings that are special.
var keys = []string{"key", "api_key", "session.id", "session_id", "X-Api-Key", "_key", "$key2"}

// spellings returns thousands of names: each byte before, after and inside the name, and pairs of
// those that some upstream is known to drop or replace.
func spellings() (all []spelling) {
	special := []string{"[", "]", "[]", "[x]", ".", " ", "+", "_", "%00", "%20", "%5B", "%5D", "%09", "%0B", "%1F", "%A0", "%85", "\"", "\xa0", "\x85", "\t", "x"}
	for _, key := range keys {
		names := []string{key, strings.ToUpper(key), strings.ToLower(key)}
		for i := range 256 {
			for _, b := range written(byte(i)) {
				names = append(names, b+key, key+b, key+b+"x", "x"+b+key)
				for at, c := range []byte(key) {
					if strings.IndexByte("_-.$", c) >= 0 || i == int(c) {
						names = append(names, key[:at]+b+key[at+1:])
					}
				}
			}
		}
		for _, a := range special {
			for _, b := range special {
				names = append(names, a+key+b, a+b+key, key+a+b, a+key+b+"x")
			}
		}
		for _, name := range names {
			if !strings.ContainsAny(name, "=&;# \t") {
				all = append(all, spelling{"query", key, name})
			}
			if !strings.ContainsAny(name, "=;") {
				all = append(all, spelling{"cookie", key, name})
			}
		}
	}
	slices.SortFunc(all, func(a, b spelling) int {
		return strings.Compare(fmt.Sprintf("%s %s %s", a.kind, a.key, a.name), fmt.Sprintf("%s %s %s", b.kind, b.key, b.name))
	})
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
