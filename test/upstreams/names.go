package main

import "strings"

// keys are names of keys. Some have bytes that are no letters, or special beginnings.
var keys = []string{"key", "api_key", "session.id", "session_id", "X-Api-Key", "_key", "$key2"}

// names returns thousands of names that a client may write in place of the name of a key: with each byte
// before, after and inside the name, and with pairs of the bytes that some upstream is known to drop or
// replace.
func names() (all []spelling) {
	special := []string{"[", "]", "[]", "[x]", ".", " ", "+", "_", "%00", "%20", "%5B", "%5D", "%09", "%0B", "%1F", "%A0", "%85", "\"", "\xa0", "\x85", "\t", "x"}
	for _, key := range keys {
		spelled := []string{key, strings.ToUpper(key), strings.ToLower(key)}
		for i := range 256 {
			for _, b := range written(byte(i)) {
				spelled = append(spelled, b+key, key+b, key+b+"x", "x"+b+key)
				for at, c := range []byte(key) {
					if strings.IndexByte("_-.$", c) >= 0 || i == int(c) {
						spelled = append(spelled, key[:at]+b+key[at+1:])
					}
				}
			}
		}
		for _, a := range special {
			for _, b := range special {
				spelled = append(spelled, a+key+b, a+b+key, key+a+b, a+key+b+"x")
			}
		}
		for _, name := range spelled {
			if !strings.ContainsAny(name, "=&;# \t") {
				all = append(all, spelling{kind: "query", key: key, text: name + "=v"})
			}
			if !strings.ContainsAny(name, "=;") {
				all = append(all, spelling{kind: "cookie", key: key, text: name + "=v"})
			}
		}
	}
	return all
}
