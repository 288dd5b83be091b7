package tokenusage

import (
	"bytes"
	"math"
	"strconv"

	"github.com/buger/jsonparser"
)

// counts are the members of usage objects so far: of each member, the last.
type counts struct {
	any bool // there was a usage object with a number of tokens

	all         int64 // total_tokens
	hasAll      bool  // the newest object has it, so that the others do not matter
	in, out     int64 // prompt_tokens or input_tokens, completion_tokens or output_tokens
	read, write int64 // of Anthropic's cache, which are not among the input
}

// total returns how many tokens were used.
func (c *counts) total() int64 {
	if c.hasAll {
		return c.all
	}
	sum := int64(0)
	for _, n := range []int64{c.in, c.out, c.read, c.write} {
		sum += min(n, math.MaxInt64-sum)
	}
	return sum
}

// usageKey is the key of usage objects without its first quote. A search for a text whose first
// byte is rare is several times as fast.
var usageKey = []byte(`usage"`)

// indexUsage returns the index of the first usageKey in text that may have an object as its value,
// -1 if there is none. Streams have it without one, as null, in each event.
func indexUsage(text []byte) int {
	for i := 0; ; i += len(usageKey) {
		n := bytes.Index(text[i:], usageKey)
		if n < 0 {
			return -1
		}
		i += n
		value := bytes.TrimLeft(text[i+len(usageKey):], ": \t")
		if i > 0 && text[i-1] == '"' && (len(value) == 0 || value[0] == '{' || value[0] == '\r' || value[0] == '\n') {
			return i
		}
	}
}

// addFrom adds the usage objects in text, and reports whether there are any. It may begin in the
// middle of a document.
func (c *counts) addFrom(text []byte) (found bool) {
	for {
		i := indexUsage(text)
		if i < 0 {
			return found
		}
		text = bytes.TrimLeft(text[i+len(usageKey):], ": \t\r\n")
		if len(text) > 0 && text[0] == '{' && c.add(text) {
			found = true
		}
	}
}

// add adds the object at the start of text, unless it is cut off or has no tokens. It reports
// whether it has.
func (c *counts) add(text []byte) bool {
	n, tokens := *c, false
	n.hasAll = false
	err := jsonparser.ObjectEach(text, func(key, value []byte, kind jsonparser.ValueType, _ int) error {
		member := n.member(string(key))
		if member == nil || kind != jsonparser.Number {
			return nil
		}
		number, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil || number < 0 {
			return nil
		}
		*member, tokens = number, true
		n.hasAll = n.hasAll || member == &n.all
		return nil
	})
	if err != nil || !tokens {
		return false
	}
	n.any = true
	*c = n
	return true
}

// member returns where the member of a usage object with this name is kept, nil if it does not
// matter.
func (c *counts) member(name string) *int64 {
	switch name {
	case "total_tokens":
		return &c.all
	case "prompt_tokens", "input_tokens":
		return &c.in
	case "completion_tokens", "output_tokens":
		return &c.out
	case "cache_read_input_tokens":
		return &c.read
	case "cache_creation_input_tokens":
		return &c.write
	}
	return nil
}
