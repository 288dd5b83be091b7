package tokenusage

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
)

// FuzzReader reads a body whole and in two parts, which must not differ. A document of JSON has the
// tokens that a decoder finds.
func FuzzReader(f *testing.F) {
	for _, b := range bodies {
		if len(b.body) < 10_000 {
			f.Add(b.body, b.contentType, uint16(len(b.body)/2))
		}
	}
	f.Fuzz(func(t *testing.T, body, contentType string, at uint16) {
		i := min(int(at), len(body))
		whole, parts := read(contentType, body), read(contentType, body[:i], body[i:])
		if *whole != *parts {
			t.Errorf("%+v, in two parts %+v", *whole, *parts)
		}
		n, known := whole.Tokens()
		if n < 0 || whole.Content() < 0 || whole.Events() < 0 {
			t.Errorf("%d tokens, %d bytes of content in %d events", n, whole.Content(), whole.Events())
		}
		if !whole.isDocument || strings.Contains(body, `\u`) || !json.Valid([]byte(body)) {
			return
		}
		if want, any := decoded(body); n != want || known != any {
			t.Errorf("%d tokens, known %v, want %d, %v", n, known, want, any)
		}
	})
}

// decoded returns the tokens of a document.
func decoded(body string) (n int64, known bool) {
	var c counts
	members(json.RawMessage(body), func(key string, value json.RawMessage) {
		if key != "usage" {
			return
		}
		open := c
		open.any, open.hasAll = false, false
		members(value, func(key string, value json.RawMessage) {
			if len(value) <= longest {
				open.set(nameOf([]byte(key)), value)
			}
		})
		if open.any {
			c = open
		}
	})
	return c.total(), c.any
}

// members calls f with the members of an object, if value is one.
func members(value json.RawMessage, f func(key string, value json.RawMessage)) {
	d := json.NewDecoder(bytes.NewReader(value))
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return
	}
	for d.More() {
		key, err := d.Token()
		var member json.RawMessage
		if err != nil || d.Decode(&member) != nil {
			return
		}
		f(key.(string), member)
	}
}

// TestNumbers sets counts to numbers as JSON has them.
func TestNumbers(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "7": 7, "1000.0": 1000, "1e3": 1000, "1E+3": 1000, "15e-1": 2, "7.5": 8, "1e400": math.MaxInt64, "9223372036854775807": math.MaxInt64,
		"99999999999999999999": math.MaxInt64, "-7": 0, "-0": 0, "true": 0, "null": 0, "NaN": 0, "Infinity": 0,
	} {
		var c counts
		if c.set(allTokens, []byte(text)); c.total() != want {
			t.Errorf("%s is %d tokens, want %d", text, c.total(), want)
		}
	}
}
