package lease

import "github.com/fleetlimit/fleetlimit/limiter"

// pendingReturns are events that the lender has leased or served in vain, and that it is still to
// hear of. Each request takes some of them along.
type pendingReturns struct {
	cancels []granted // of what was served: one for each request
	returns []granted // of leases: as many as fit into each request
}

// granted are events that a store has leased or served.
type granted struct {
	limiter.Events
	incarnation uint64 // of the store
	lacked      int64  // of what was served: see limiter.LeaseRequest.Lacked
}

func (p *pendingReturns) any() bool { return len(p.cancels) > 0 || len(p.returns) > 0 }

// cancel adds events that were served. Those that were served at one instant are canceled by one
// request.
func (p *pendingReturns) cancel(g granted) {
	for i := range p.cancels {
		if p.cancels[i].At == g.At && p.cancels[i].incarnation == g.incarnation {
			p.cancels[i].N += g.N
			return
		}
	}
	p.cancels = append(p.cancels, g)
}

// add adds others.
func (p *pendingReturns) add(others pendingReturns) {
	for _, g := range others.cancels {
		p.cancel(g)
	}
	p.returns = append(p.returns, others.returns...)
}

// moveTo has l cancel and return events, as far as it has room. It returns how many are lost: those
// that another incarnation of the lender has granted.
func (p *pendingReturns) moveTo(l *limiter.LeaseRequest) (lost int64) {
	for len(p.cancels) > 0 && l.Cancel.N == 0 {
		if p.cancels[0].incarnation == l.Incarnation {
			l.Cancel, l.Lacked = p.cancels[0].Events, p.cancels[0].lacked
		} else {
			lost += p.cancels[0].N
		}
		p.cancels = p.cancels[1:]
	}
	for len(p.returns) > 0 {
		if g := p.returns[0]; g.incarnation != l.Incarnation {
			lost += g.N
		} else if !addReturn(l, g.Events) {
			break
		}
		p.returns = p.returns[1:]
	}
	return lost
}

// addReturn adds events of a lease to what l returns, and reports whether there was room.
func addReturn(l *limiter.LeaseRequest, e limiter.Events) bool {
	for i := range l.Returns {
		if b := &l.Returns[i]; b.N == 0 || b.At == e.At {
			b.At, b.N = e.At, b.N+e.N
			return true
		}
	}
	return false
}

// drop removes all events, and returns how many they are.
func (p *pendingReturns) drop() (lost int64) {
	for _, list := range [][]granted{p.cancels, p.returns} {
		for _, g := range list {
			lost += g.N
		}
	}
	*p = pendingReturns{}
	return lost
}
