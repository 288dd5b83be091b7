package redisstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/lua"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

var _ limiter.Lender = (*Store)(nil)

// Lend implements [limiter.Lender]. The loans are asked for within a second, or not at all.
func (s *Store) Lend(loans []limiter.LeaseRequest, answered func(error)) {
	c := s.lendCall(loans)
	s.client.Start(c, func() {
		err := c.Err
		switch {
		case err == nil:
			var foreign int64
			foreign, err = readLoans(c, loans)
			s.foreign.Add(uint64(foreign))
		default:
			err = late(err)
		}
		if err == nil {
			s.known.add(loans[0].Key)
		}
		answered(err)
	})
}

// Answers implements [limiter.Lender].
func (s *Store) Answers(key []byte, within time.Duration) bool {
	return s.client.Answers(hashName(s.prefix, key), within)
}

// lendCall returns the call that answers loans: see lua.Lend.
func (s *Store) lendCall(loans []limiter.LeaseRequest) *redisconn.Call {
	kinds := make([]limiter.Kind, 0, lua.MaxRules)
	c := s.call(loans[0].Key, len(loans), 0, redisconn.Incarnation{})
	for i := range loans {
		l := &loans[i]
		kinds = append(kinds, l.Rule.Algorithm.Kind)
		s.add(c, l.Rule, l.Need, s.terms(l))
	}
	c.Script, c.NewKey = lendScripts.of(kinds), !s.known.has(loans[0].Key)
	return c
}

// terms returns what else a loan asks for: see loan.lua.
func (s *Store) terms(l *limiter.LeaseRequest) []byte {
	b := make([]byte, 0, termsSize)
	want := l.Want
	if !l.Rule.Leases() {
		want = 0
	}
	b = appendNumber(b, 3, l.More)
	b = appendNumber(b, 2, l.Divisor())
	b = appendNumber(b, 5, want)
	b = appendNumber(b, 3, l.Rule.LeaseSlot())
	settles := l.ChangesCount()
	if l.Seen.N <= 0 && !settles {
		return b
	}
	b = appendEvents(b, l.Seen)
	b = appendNumber(b, 7, int64(l.Incarnation))
	if !settles {
		return b
	}
	b = appendEvents(b, l.Returns[0])
	b = appendEvents(b, l.Returns[1])
	b = appendEvents(b, l.Cancel)
	b = appendNumber(b, 7, l.CreditTotal)
	b = appendNumber(b, 7, l.SettledTotal)
	return binary.BigEndian.AppendUint64(b, s.node)
}

// termsSize is how many bytes terms has at most.
const termsSize = 13 + 19 + 58

func appendEvents(b []byte, e limiter.Events) []byte {
	return appendNumber(appendNumber(b, 5, e.N), 7, int64(e.At))
}

// appendNumber appends n in so many bytes, at most seven, the highest first; or the number nearest to it that they can say.
func appendNumber(b []byte, bytes int, n int64) []byte {
	n = min(max(n, 0), 1<<(8*bytes)-1)
	for shift := 8 * (bytes - 1); shift >= 0; shift -= 8 {
		b = append(b, byte(n>>shift))
	}
	return b
}

// readLoans reads the reply of lend.lua and writes the answers. It returns how many values were not ours.
func readLoans(c *redisconn.Call, loans []limiter.LeaseRequest) (foreign int64, err error) {
	r, err := newReader(c.Reply)
	if err != nil {
		return 0, err
	}
	for i := range loans {
		l := &loans[i]
		at := limiter.Instant(r.next())
		l.Served, l.Granted, l.Incarnation = r.next(), r.next(), c.Incarnation
		r.count(l.Rule, at).FillAnswer(l)
	}
	foreign, ok := r.end()
	if !ok {
		return 0, fmt.Errorf("redisstore: the reply to %d loans is %v, which is not one of lend.lua", len(loans), c.Reply)
	}
	return foreign, nil
}

// late returns err as a [limiter.ErrLate] if it says that the answer comes too late for the caller.
func late(err error) error {
	if errors.Is(err, redisconn.ErrTimeout) || errors.Is(err, redisconn.ErrBusy) {
		return fmt.Errorf("%w: %w", limiter.ErrLate, err)
	}
	return err
}
