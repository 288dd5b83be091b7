package logs

import (
	"bytes"
	"fmt"
	"math/rand/v2"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A combinedFormat reads the common and the combined log format of Apache and nginx:
//
//	192.0.2.1 - alice [10/Oct/2024:13:55:36 +0000] "GET / HTTP/1.1" 200 512 ...
//
// Its instants are whole seconds. The requests of one second are spread over it.
type combinedFormat struct {
	clock
	user   bool // whether keys are users
	spread *rand.Rand
}

// NewCombined returns the combined format. key is "address" or "user". The spread of the requests
// within a second depends on seed alone.
func NewCombined(key string, seed uint64) (Format, error) {
	if key != "address" && key != "user" {
		return nil, fmt.Errorf("the combined log format has no %q: use address or user", key)
	}
	return &combinedFormat{user: key == "user", spread: rand.New(rand.NewPCG(seed, 0))}, nil
}

func (c *combinedFormat) Record(line []byte) (Record, error) {
	at, words, _, err := c.parse(line)
	if err != nil {
		return Record{}, err
	}
	key := words[0]
	if c.user {
		if key = words[2]; string(key) == "-" {
			return Record{}, ErrKeyless
		}
	}
	return Record{At: at, Key: key, Cost: 1}, nil
}

// parse returns the instant of a line, the words before it and what follows it.
func (c *combinedFormat) parse(line []byte) (at limiter.Instant, words [][]byte, rest []byte, err error) {
	if len(line) == 0 {
		return 0, nil, nil, ErrNoRecord
	}
	open, end := bytes.IndexByte(line, '['), bytes.IndexByte(line, ']')
	words = bytes.Fields(line[:max(0, open)])
	if open < 0 || end < open || len(words) < 3 {
		return 0, nil, nil, fmt.Errorf("%.40q is not in the combined log format", line)
	}
	if at, err = c.read(line[open+1 : end]); err != nil {
		return 0, nil, nil, err
	}
	const second = 1_000_000
	return at + limiter.Instant(c.spread.IntN(second)), words, line[end+1:], nil
}

func (c *combinedFormat) Instants() string { return c.clock.String() + ", spread over their second" }
