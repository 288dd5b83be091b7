package redisstore

import (
	"errors"
	"fmt"

	"github.com/fleetlimit/fleetlimit/limiter/concurrency"
	"github.com/fleetlimit/fleetlimit/lua"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

var _ concurrency.Lender = (*Store)(nil)

var permitsScript = redisconn.NewScript(lua.Permits())

// errOvertaken is the error of a request that arrives after a newer request of the same node.
var errOvertaken = errors.New("redisstore: a newer request of this node has overtaken this one")

// Exchange implements [concurrency.Lender]: see permits.lua.
func (s *Store) Exchange(r *concurrency.LeaseRequest, answered func(concurrency.Grant, error)) {
	c := &redisconn.Call{
		Script: permitsScript,
		Keys:   []string{permitsName(hashName(s.prefix, []byte(r.Key)), r.Rule)},
		Args: []any{
			s.clock(0), r.Node, r.Sequence, r.Limit, r.Hold, r.Need, r.Want, r.Reserve, r.Share, r.Lifetime.Microseconds(),
		},
		NewKey: r.Hold == 0,
	}
	s.client.Start(c, func() {
		if c.Err != nil {
			answered(concurrency.Grant{}, late(c.Err))
			return
		}
		answered(readPermits(c.Reply))
	})
}

// readPermits reads the reply of permits.lua.
func readPermits(reply any) (g concurrency.Grant, err error) {
	if all, ok := reply.([]any); ok && len(all) == 0 {
		return g, errOvertaken
	}
	r := newReader(reply)
	g = concurrency.Grant{Permits: r.next(), Free: r.next()}
	_, err = r.end("permits.lua")
	return g, err
}

// permitsName returns the name of the hash that records who holds permits of a rule.
func permitsName(hash string, id uint32) string { return fmt.Sprintf("%s:%08x:permits", hash, id) }
