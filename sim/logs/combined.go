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
	if len(line) == 0 {
		return Record{}, errNoRecord
	}
	open, end := bytes.IndexByte(line, '['), bytes.IndexByte(line, ']')
	words := bytes.Fields(line[:max(0, open)])
	if open < 0 || end < open || len(words) < 3 {
		return Record{}, fmt.Errorf("%.40q is not in the combined log format", line)
	}
	at, err := c.read(line[open+1 : end])
	if err != nil {
		return Record{}, err
	}
	key := words[0]
	if c.user {
		if key = words[2]; string(key) == "-" {
			return Record{}, errKeyless
		}
	}
	const second = 1_000_000
	return Record{At: at + limiter.Instant(c.spread.IntN(second)), Key: key, Cost: 1}, nil
}

func (c *combinedFormat) Instants() string { return c.clock.String() + ", spread over their second" }
