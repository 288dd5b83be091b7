package replay

import (
	"strconv"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/sim"
	"github.com/fleetlimit/fleetlimit/sim/logs"
)

// said has the places of the fields that the gateway has written about its decision.
type said struct {
	zone, decision, at int

	keyHash, cost, endpoint, tier int // what Options.Recorded reads
}

// want adds the fields that are read with --recorded, in place of the fields that a zone reads.
func (s *said) want(n *needs) {
	const why = "--recorded"
	n.want(why, "rate_limit", "zone")
	s.keyHash, s.cost = n.want(why, "rate_limit", "key_hash"), n.want("", "rate_limit", "cost")
	s.endpoint, s.tier = n.want("", "rate_limit", "endpoint"), n.want("", "rate_limit", "tier")
}

// add adds the decision and its instant to a record, if the line has them.
func (s *said) add(row *logs.Row, name string, r *logs.Record) {
	if string(row.First(s.zone)) != name {
		return
	}
	switch string(row.First(s.decision)) {
	case "admitted":
		r.Said = sim.Admitted
	case "rejected":
		r.Said = sim.Rejected
	}
	if at, err := strconv.ParseInt(string(row.First(s.at)), 10, 64); err == nil && at > 0 && at < 1<<53 {
		r.At = limiter.Instant(at)
	}
}

// readRecorded returns the record of a request from what the gateway has written about it.
func (z *Reader) readRecorded(row *logs.Row) (logs.Record, error) {
	s := &z.made.said
	if string(row.First(s.zone)) != z.name || row.First(s.decision) == nil || string(row.First(s.decision)) == "denied" {
		z.Passed++
		return logs.Record{}, logs.ErrNoRecord
	}
	key := row.First(s.keyHash)
	if key == nil {
		z.Skipped++
		return logs.Record{}, logs.ErrKeyless
	}
	cost, _ := strconv.ParseInt(string(row.First(s.cost)), 10, 64) // record takes 1 if there is none
	return z.record(z.limitOf(string(row.First(s.endpoint)), string(row.First(s.tier))), key, min(cost, limiter.MaxEvents)), nil
}

// limitOf returns the number of the limit of an endpoint and a tier. An endpoint without a limit
// has the limit of the zone.
func (z *Reader) limitOf(endpoint, tier string) uint16 {
	for _, endpoint := range []string{endpoint, ""} {
		for i, l := range z.limits {
			if l.Endpoint == endpoint && l.Tier == tier && !l.Missing {
				return uint16(i)
			}
		}
	}
	return 0
}
