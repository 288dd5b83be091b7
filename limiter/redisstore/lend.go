package redisstore

import (
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

// Lend implements [limiter.Lender]. The requests are sent within a second or not at all.
func (s *Store) Lend(requests []limiter.LeaseRequest, written func(), answered func(error)) {
	c := s.lendCall(requests)
	c.Written = written
	s.client.Start(c, func() {
		err := late(c.Err)
		if err == nil {
			s.known.add(requests[0].Key)
			var foreign int64
			foreign, err = readGrants(c, requests)
			s.foreign.Add(uint64(foreign))
		}
		answered(err)
	})
}

// lendCall returns the call that answers lease requests of one key: see lease_request.lua.
func (s *Store) lendCall(requests []limiter.LeaseRequest) *redisconn.Call {
	key := requests[0].Key
	b := s.newCall(key, 0, redisconn.Incarnation{})
	b.NewKey = !s.known.has(key)
	for i := range requests {
		l := &requests[i]
		var room [maxLeaseArgs]byte
		b.add(l.Rule, l.Need, string(s.appendLeaseArgs(room[:0], l)))
	}
	return b.callOf(&lendScripts)
}

// maxLeaseArgs is the most bytes that appendLeaseArgs appends.
const maxLeaseArgs = 16 + 19 + 55 + 7 + 2*limiter.OverflowWindows

// appendLeaseArgs appends the fields of a lease request besides its need: see lease_request.lua.
func (s *Store) appendLeaseArgs(b []byte, l *limiter.LeaseRequest) []byte {
	want, slot := l.Want, l.Rule.LeaseSlot()
	if !l.Rule.Leases() {
		want, slot = 0, 0
	}
	b = appendNumber(b, 3, l.More)
	b = appendNumber(b, 2, l.Divisor())
	b = appendNumber(b, 5, want)
	b = appendNumber(b, 4, slot)
	b = appendNumber(b, 2, l.Share)
	changes := l.ChangesCount()
	if l.Seen.N <= 0 && !changes {
		return b
	}
	b = appendEvents(b, l.Seen)
	b = appendNumber(b, 7, int64(l.Incarnation))
	if !changes {
		return b
	}
	for _, r := range l.Returns {
		b = appendEvents(b, r.Events)
		b = appendNumber(b, 5, r.Spent)
		b = appendNumber(b, 2, r.Share)
	}
	b = appendNumber(appendEvents(b, l.Cancel), 5, l.Lacked)
	if l.Spends == (limiter.Spends{}) {
		return b
	}
	b = appendNumber(b, 7, l.Spends.Newest)
	for _, n := range l.Spends.Events {
		b = appendNumber(b, 2, int64(n))
	}
	return b
}
