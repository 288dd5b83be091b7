package replay

import (
	"errors"
	"fmt"
	"strings"

	"github.com/fleetlimit/fleetlimit/internal/request/zone"
	"github.com/fleetlimit/fleetlimit/sim/logs"
)

// Read implements logs.RowReader.
func (z *Reader) Read(row *logs.Row) (logs.Record, error) {
	if !z.needs.count(row) || strings.HasPrefix(string(row.First(z.logger)), "http.log.error") {
		return logs.Record{}, logs.ErrKeyless // a line about something else, or a second line about a request
	}
	var record logs.Record
	var err error
	if z.recorded {
		record, err = z.readRecorded(row)
	} else {
		record, err = z.readRequest(row)
	}
	if err == nil {
		z.made.said.add(row, z.name, &record)
	}
	return record, err
}

// count counts the fields that a row has, and reports whether the row has a field that is needed.
func (n *needs) count(row *logs.Row) (any bool) {
	n.rows++
	for i := range n.wants {
		if row.First(i) != nil {
			n.seen[i]++
			any = any || n.wants[i].For != ""
		}
	}
	return any
}

// readRequest has the zone read the request of a row.
func (z *Reader) readRequest(row *logs.Row) (logs.Record, error) {
	if err := z.made.make(row); err != nil {
		return logs.Record{}, err
	}
	for _, u := range z.uses {
		gets, err := u.gets(z.made.http)
		if err != nil {
			return logs.Record{}, fmt.Errorf("a matcher of a route: %w", err)
		}
		if gets {
			return z.readBy(u, row)
		}
	}
	z.Passed++
	return logs.Record{}, logs.ErrNoRecord
}

// readBy has a use of the zone read the request.
func (z *Reader) readBy(u *use, row *logs.Row) (logs.Record, error) {
	exempt, denied, err := u.addresses.Check(z.made.http, z.rules)
	if err == nil && !exempt && !denied {
		r := zone.Request{HTTP: z.made.http, Repl: z.made.repl}
		var applies bool
		if applies, err = u.zone.Read(&r, z.rules, &z.reading); !applies && err == nil && z.reading.Refusal == nil {
			z.Passed++
			return logs.Record{}, logs.ErrNoRecord
		}
		if err == nil && z.reading.Refusal == nil {
			return z.charge(row)
		}
	}
	switch {
	case exempt:
		z.Allowed++
	default:
		z.Refused++
	}
	return logs.Record{}, logs.ErrNoRecord
}

// charge returns the record of a request that the zone has read.
func (z *Reader) charge(row *logs.Row) (logs.Record, error) {
	found := &z.reading
	z.InvalidCosts += int64(found.InvalidCosts)
	switch {
	case found.Template == nil:
		z.Skipped++
		return logs.Record{}, logs.ErrKeyless
	case found.Allowed:
		z.Allowed++
		return logs.Record{}, logs.ErrNoRecord
	case len(found.Charges) == 0:
		z.Unlimited++
		return logs.Record{}, logs.ErrNoRecord
	case len(found.Charges) > 1:
		z.Several++
	}
	c := &found.Charges[0]
	if c.Counts != nil && !c.Counts.Has(z.made.statusOf(row)) {
		z.Uncounted++
		return logs.Record{}, logs.ErrNoRecord
	}
	_, tier := c.Where()
	limit, known := z.numbers[limitOf{c.Policy, tier}]
	if !known {
		if limit, known = z.numbers[limitOf{policy: c.Policy}]; !known {
			return logs.Record{}, errors.New("the zone has a limit that is not among its limits")
		}
	}
	return z.record(limit, found.Key, c.Cost), nil
}
