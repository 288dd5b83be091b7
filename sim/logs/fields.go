package logs

import (
	"strconv"
	"strings"

	"github.com/fleetlimit/fleetlimit/limiter"
)

// A fieldReader makes records of two fields.
type fieldReader []Want

// Keys returns a reader whose keys are a field, and whose costs are another one, or 1 if its name is
// empty.
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
		// What is no number, or below 1, counts as 1, as in the gateway.
		if n, err := strconv.ParseInt(string(row.First(1)), 10, 64); err == nil {
			r.Cost = min(max(1, n), limiter.MaxEvents)
		}
	}
	return r, nil
}
