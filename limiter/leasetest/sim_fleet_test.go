package leasetest

import "slices"

// alive returns how many nodes there are.
func (s *simulation) alive() int { return len(s.nodes) + s.others }

// count has all nodes know how many there are, within the lag of the simulation.
func (s *simulation) count() {
	alive := s.alive()
	s.fewest = min(s.fewest, alive)
	for _, n := range s.nodes {
		if s.lag == 0 {
			n.counts.Store(int64(alive))
			continue
		}
		s.after(s.rng.Int64N(s.lag), func() { n.counts.Store(int64(s.alive())) })
	}
}

// join has a node come.
func (s *simulation) join() {
	n := s.newNode(s.now(), s.alive()+1)
	s.tracef(allKeys, "%v joins", n)
	s.nodes = append(s.nodes, n)
	s.count()
}

// crash has the node begin anew, with nothing.
func (n *simNode) crash() {
	n.tracef(allKeys, "%v crashes", n)
	n.gone = true
	n.replace(n.newNode(n.now(), n.alive()))
}

// restart has the node begin anew, after it has returned what it can.
func (n *simNode) restart() {
	n.tracef(allKeys, "%v restarts", n)
	n.replace(n.newNode(n.now(), n.alive()))
}

// leave has the node go for good.
func (n *simNode) leave() {
	n.tracef(allKeys, "%v leaves", n)
	n.replace()
}

// replace puts others in the place of the node.
func (n *simNode) replace(by ...*simNode) {
	at := slices.Index(n.nodes, n)
	n.nodes = slices.Replace(n.nodes, at, at+1, by...)
	n.retired = append(n.retired, n)
	n.driver.Add(1)
	n.afterUnlocked(0, func() {
		defer n.driver.Done()
		n.store.Close()
	})
	n.count()
}

// churn has nodes come and go until takes end, about as often as a key is taken.
func (s *simulation) churn(gap float64, most int) {
	s.after(1+int64(s.rng.ExpFloat64()*gap), func() {
		if s.ended {
			return
		}
		switch n := len(s.nodes); {
		case n > 1 && s.rng.IntN(4) == 0:
			s.nodes[s.rng.IntN(n)].leave()
		case n < most && s.rng.IntN(3) == 0:
			s.join()
		case s.rng.IntN(2) == 0:
			s.nodes[s.rng.IntN(n)].crash()
		default:
			s.nodes[s.rng.IntN(n)].restart()
		}
		s.churn(gap, most)
	})
}
