package main

import "strings"

// victims are values of a key. One ends as base64 does, and one has a space in it.
var victims = []string{"v1ctim", "a+b/c==", "two words"}

// values returns values that a client may write in place of a victim: with each byte before, after and inside
// the value, and with pairs of which one is a byte that some upstream is known to drop, to replace or to stop
// at.
func values() (all []spelling) {
	special := []string{
		"", ",", " ", "[", "]", "(", "\"", "'", "&", ";", "+", "%00", "%01", "%09", "%0A", "%0D", "%0B", "%1F", "%20", "%22", "%2C", "%3B", "%7F", "%85", "%A0",
		"%C2%85", "%C2%A0", "%C2%AD", "%E1%9A%80", "%E1%A0%8E", "%E2%80%82", "%E2%80%8B", "%E2%80%8D", "%E2%80%A8", "%E2%81%A0", "%E3%80%80", "%EF%BB%BF",
		"\x85", "\xa0", "\u0085", "\u00a0", "\u1680", "\u2002", "\u200b", "\u3000", "\ufeff", "x", ", x", " x", "$", "\\",
	}
	for i, value := range victims {
		spelled := []string{value}
		for c := range 256 {
			for _, b := range written(byte(c)) {
				spelled = append(spelled, b+value, value+b, "x"+b+value, value+b+"x", value[:1]+b+value[1:])
				if at := strings.IndexByte(value, ' '); at > 0 {
					spelled = append(spelled, value[:at]+b+value[at+1:])
				}
			}
		}
		for _, a := range special {
			if i > 0 {
				break // one value is enough for pairs
			}
			for _, b := range special {
				spelled = append(spelled, a+value+b, a+b+value, value+a+b, value[:1]+a+b+value[1:])
			}
		}
		for _, s := range spelled {
			for _, kind := range []string{"header", "cookie", "query"} {
				if !writable(kind, s) {
					continue
				}
				text := "key=" + s
				if kind == "header" {
					text = s
				}
				all = append(all, spelling{kind, "key", value, text})
			}
		}
	}
	return all
}

// writable reports whether a request of this kind can have the text as its value.
func writable(kind, text string) bool {
	switch kind {
	case "query":
		return !strings.ContainsAny(text, "&;# \t")
	case "cookie":
		return !strings.Contains(text, ";")
	default:
		return !strings.Contains(text, "%")
	}
}
