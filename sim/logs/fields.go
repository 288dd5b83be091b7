package logs

import (
	"strconv"
	"strings"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A fieldReader makes records of one or two fields: the key and the cost.
type fieldReader []Want

// Keys returns a reader that takes the key from one field, and the cost from another one. The cost is 1
// if the name of its field is "".
func Keys(key, cost string) RowReader {
	r := fieldReader{{Path: strings.Split(key, "."), For: "--key"}}
	if cost != "" {
		r = append(r, Want{Path: strings.Split(cost, "."), For: "--cost"})
	}
	return r
}

// Wants implements RowReader.
func (f fieldReader) Wants() []Want { return f }

// Read implements RowReader.
func (f fieldReader) Read(row *Row) (Record, error) {
	r := Record{Key: row.First(0), Cost: 1}
	if len(r.Key) == 0 {
		return Record{}, ErrKeyless
	}
	if len(f) > 1 {
		// As in the gateway, the cost is 1 if the value is no number, or below 1.
		if n, err := strconv.ParseInt(string(row.First(1)), 10, 64); err == nil {
			r.Cost = min(max(1, n), limiter.MaxEvents)
		}
	}
	return r, nil
}
