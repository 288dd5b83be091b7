package limiter

import "slices"

// newMember returns a node that was born then.
func (w *world) newMember(born Instant) *member {
	w.members++
	offset := w.Int64N(2000*sec) - 1000*sec
	m := &member{world: w, id: uint64(w.members), offset: offset, born: born, accounts: make(map[int]*holder)}
	m.size = m.size.With(born+Instant(offset), 1)
	return m
}

// alive returns how many nodes there are.
func (w *world) alive() int { return max(w.fleet, len(w.nodes)) }

// count has all nodes know how many there are.
func (w *world) count() {
	n := w.alive()
	if w.fewest = min(w.fewest, n); w.fewest == 0 {
		w.fewest = n
	}
	for _, m := range w.nodes {
		m.size = m.size.With(m.clock(), n)
	}
}

// churn has nodes come and go all the time, about as often as a key is taken.
func (w *world) churn() {
	gap := float64(w.rule.window) / float64(w.rule.Limit.Events)
	many := 2 * len(w.nodes)
	var change func()
	change = func() {
		switch n := len(w.nodes); {
		case n > 1 && w.IntN(4) == 0:
			w.nodes[w.IntN(n)].leave()
		case n < many && w.IntN(3) == 0:
			w.join()
		case w.IntN(2) == 0:
			w.nodes[w.IntN(n)].crash()
		default:
			w.nodes[w.IntN(n)].restart()
		}
		w.after(1+int64(w.ExpFloat64()*gap), change)
	}
	w.after(int64(w.ExpFloat64()*gap), change)
}

func (w *world) join() {
	m := w.newMember(w.now)
	w.tracef(allKeys, "%v joins", m)
	w.nodes = append(w.nodes, m)
	w.count()
}

// crash has the node begin anew, with nothing.
func (m *member) crash() {
	m.tracef(allKeys, "%v crashes", m)
	m.end()
	m.replace(m.newMember(m.now))
}

// restart has the node begin anew, after it has given back what it can.
func (m *member) restart() {
	m.tracef(allKeys, "%v restarts", m)
	m.giveBack()
	m.end()
	m.replace(m.newMember(m.now))
}

// leave has the node go for good.
func (m *member) leave() {
	m.tracef(allKeys, "%v leaves", m)
	m.giveBack()
	m.end()
	m.replace()
}

// giveBack has the accounts that are not asking tell the store what they have to.
func (m *member) giveBack() {
	for key := range m.audit.keys {
		if h := m.accounts[key]; h != nil && !h.Asking() {
			h.audit.expired(h, h.Expire(h.rule, h.clock()))
			h.Retire()
			h.send(false)
		}
	}
}

// end has what is on the node be lost.
func (m *member) end() {
	for key := range m.audit.keys {
		if h := m.accounts[key]; h != nil {
			m.audit.crashed(h)
		}
	}
	m.dead = true
}

// replace puts others in the place of the node.
func (m *member) replace(by ...*member) {
	at := slices.Index(m.nodes, m)
	m.nodes = slices.Replace(m.nodes, at, at+1, by...)
	m.count()
}
