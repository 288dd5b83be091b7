package limiter

import "testing"

// TestLeaseModelFinds plants bugs, and wants each of them found within a number of runs.
func TestLeaseModelFinds(t *testing.T) {
	const runs = 10_000
	for _, p := range plants {
		t.Run(p.name, func(t *testing.T) {
			for seed := p.from; seed < p.from+runs; seed++ {
				if err := playWorld(seed, p, false).audit.err; err != nil {
					t.Logf("seed %d: %v", seed, err)
					return
				}
			}
			t.Errorf("runs in which the model found it = 0 of %d, want one", runs)
		})
	}
}

var plants = []plant{
	{
		name:  "double give-back",
		blind: true,
		lend: func(_ *holder, _ *Ledger, l *LeaseRequest) {
			if l.Returns[1].N == 0 {
				l.Returns[1] = l.Returns[0]
			}
		},
	},
	{
		name:  "undone twice",
		blind: true,
		lend:  func(_ *holder, _ *Ledger, l *LeaseRequest) { l.Cancel.N *= 2 },
	},
	{
		name:  "lease spent after its end",
		blind: true,
		answer: func(h *holder, _ Instant, _ *LeaseRequest) {
			h.expires[0], h.expires[1] = h.expires[0]+200, h.expires[1]+200
		},
	},
	{
		name:  "lease whose end is counted from the answer",
		blind: true,
		answer: func(h *holder, asked Instant, l *LeaseRequest) {
			if newer := min(1, h.remaining[1]); l.Granted > 0 {
				h.expires[newer] += uint16((h.clock() - asked) / ms)
			}
		},
	},
	{
		name:      "late give-back into the next window",
		algorithm: &fixed,
		lend:      func(h *holder, _ *Ledger, l *LeaseRequest) { l.Returns[0].At = h.now },
	},
	{
		name:  "grant above what is left",
		blind: true,
		lent: func(_ *holder, g *Ledger, l *LeaseRequest) {
			if l.Granted > 0 && l.Granted < l.Want {
				g.count.lend(l.Rule, l.Want-l.Granted)
				l.Granted = l.Want
			}
		},
	},
	{
		name:      "bucket that refills while its leases are out",
		blind:     true,
		algorithm: &bucket,
		from:      2400,
		lend: func(h *holder, g *Ledger, l *LeaseRequest) {
			b := g.count.(*watched).lendingCount.(*lendingBucket)
			for b.out() > 0 && h.now >= b.ends {
				b.tokenBucket.advance(l.Rule, b.ends)
				b.rotate()
			}
			b.tokenBucket.advance(l.Rule, h.now)
		},
	},
	{
		name: "script run twice",
		lend: func(h *holder, g *Ledger, l *LeaseRequest) {
			Lend(h.id, h.vault.run, h.now, []*Ledger{g}, []LeaseRequest{*l})
		},
	},
	{
		name: "debt debited twice",
		lend: func(h *holder, g *Ledger, l *LeaseRequest) {
			g.paid[h.id], l.SettledTotal = 0, min(l.SettledTotal, l.CreditTotal-1)
		},
	},
	{
		name: "credit after a denial",
		take: func(h *holder) { h.denies = false },
	},
	{
		name:  "undo with another lease than its own",
		blind: true,
		from:  2200,
		undo: func(h *holder, s *Spent) {
			for i := range s.Leases {
				s.Leases[i].At = max(h.grantedAt[0], h.grantedAt[1])
			}
		},
	},
	{
		name:    "credit after a restart",
		from:    500,
		sharers: func(m *member) int { return len(m.nodes) },
	},
	{
		name: "give-back to a store that does not know of it",
		lend: func(h *holder, _ *Ledger, l *LeaseRequest) { l.Incarnation = h.vault.run },
	},
}

// A plant is a bug that is built into a world to be found: what tampers with it at certain points. The zero plant is none.
type plant struct {
	name      string
	algorithm *Algorithm // where the bug is; nil for all
	blind     bool       // but for the bounds
	from      uint64     // the first seed: what is rare need not be looked for each time

	sharers func(*member) int // in place of that of the member

	take   func(*holder)
	undo   func(*holder, *Spent)
	send   func(*holder, *LeaseRequest)
	lend   func(*holder, *Ledger, *LeaseRequest)
	lent   func(*holder, *Ledger, *LeaseRequest)
	answer func(h *holder, asked Instant, l *LeaseRequest)
}

func (p *plant) beforeTake(h *holder) {
	if p.take != nil {
		p.take(h)
	}
}

func (p *plant) beforeUndo(h *holder, s *Spent) {
	if p.undo != nil {
		p.undo(h, s)
	}
}

func (p *plant) beforeSend(h *holder, l *LeaseRequest) {
	if p.send != nil {
		p.send(h, l)
	}
}

func (p *plant) beforeLend(h *holder, g *Ledger, l *LeaseRequest) {
	if p.lend != nil {
		p.lend(h, g, l)
	}
}

func (p *plant) afterLend(h *holder, g *Ledger, l *LeaseRequest) {
	if p.lent != nil {
		p.lent(h, g, l)
	}
}

func (p *plant) afterAnswer(h *holder, asked Instant, l *LeaseRequest) {
	if p.answer != nil {
		p.answer(h, asked, l)
	}
}
