package tokenusage

import (
	"math"
	"strconv"
)

// counts has the newest value of each member of the usage objects so far.
type counts struct {
	any bool // there was a usage object with a number of tokens

	all         int64 // total_tokens
	hasAll      bool  // the newest usage object has total_tokens, so the members below do not matter
	in, out     int64 // prompt_tokens or input_tokens, completion_tokens or output_tokens
	read, write int64 // tokens of Anthropic's cache, which are not part of in
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

// set sets a member to a value of JSON. It does nothing if the member does not matter, or if the value is no
// number or a negative one.
func (c *counts) set(member name, number []byte) {
	if member < allTokens || number[0] < '0' || number[0] > '9' {
		return
	}
	n, err := strconv.ParseInt(string(number), 10, 64)
	if err != nil { // it has a fraction or an exponent, or is too large
		f, err := strconv.ParseFloat(string(number), 64)
		switch {
		case err != nil && !math.IsInf(f, 0):
			return
		case f >= math.MaxInt64:
			n = math.MaxInt64
		default:
			n = int64(math.Ceil(f))
		}
	}
	c.any = true
	switch member {
	case allTokens:
		c.all, c.hasAll = n, true
	case inTokens:
		c.in = n
	case outTokens:
		c.out = n
	case readTokens:
		c.read = n
	case writeTokens:
		c.write = n
	}
}
