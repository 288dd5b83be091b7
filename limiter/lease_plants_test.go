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
		lend: func(_ *holder, _ *Ledger, l *Loan) {
			if l.Back[1].N == 0 {
				l.Back[1] = l.Back[0]
			}
		},
	},
	{
		name:  "undone twice",
		blind: true,
		lend:  func(_ *holder, _ *Ledger, l *Loan) { l.Undo.N *= 2 },
	},
	{
		name:   "lease spent after its end",
		blind:  true,
		answer: func(h *holder, _ Instant, _ *Loan) { h.ends[0], h.ends[1] = h.ends[0]+200, h.ends[1]+200 },
	},
	{
		name:  "lease whose end is counted from the answer",
		blind: true,
		answer: func(h *holder, asked Instant, l *Loan) {
			if newer := min(1, h.left[1]); l.Lent > 0 {
				h.ends[newer] += uint16((h.clock() - asked) / ms)
			}
		},
	},
	{
		name:      "late give-back into the next window",
		algorithm: &fixed,
		lend:      func(h *holder, _ *Ledger, l *Loan) { l.Back[0].At = h.now },
	},
	{
		name:  "grant above what is left",
		blind: true,
		lent: func(_ *holder, g *Ledger, l *Loan) {
			if l.Lent > 0 && l.Lent < l.Want {
				g.count.lend(l.Rule, l.Want-l.Lent)
				l.Lent = l.Want
			}
		},
	},
	{
		name:      "bucket that refills while its leases are out",
		blind:     true,
		algorithm: &bucket,
		from:      2400,
		lend: func(h *holder, g *Ledger, l *Loan) {
			b := g.count.(*watched).lendable.(*lentBucket)
			for b.out() > 0 && h.now >= b.ends {
				b.tokenBucket.settle(l.Rule, b.ends)
				b.turn()
			}
			b.tokenBucket.settle(l.Rule, h.now)
		},
	},
	{
		name: "script run twice",
		lend: func(h *holder, g *Ledger, l *Loan) { Lend(h.id, h.vault.run, h.now, []*Ledger{g}, []Loan{*l}) },
	},
	{
		name: "debt debited twice",
		lend: func(h *holder, g *Ledger, l *Loan) { g.paid[h.id], l.Paid = 0, min(l.Paid, l.Owed-1) },
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
				s.Leases[i].At = max(h.at[0], h.at[1])
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
		lend: func(h *holder, _ *Ledger, l *Loan) { l.Run = h.vault.run },
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
	send   func(*holder, *Loan)
	lend   func(*holder, *Ledger, *Loan)
	lent   func(*holder, *Ledger, *Loan)
	answer func(h *holder, asked Instant, l *Loan)
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

func (p *plant) beforeSend(h *holder, l *Loan) {
	if p.send != nil {
		p.send(h, l)
	}
}

func (p *plant) beforeLend(h *holder, g *Ledger, l *Loan) {
	if p.lend != nil {
		p.lend(h, g, l)
	}
}

func (p *plant) afterLend(h *holder, g *Ledger, l *Loan) {
	if p.lent != nil {
		p.lent(h, g, l)
	}
}

func (p *plant) afterAnswer(h *holder, asked Instant, l *Loan) {
	if p.answer != nil {
		p.answer(h, asked, l)
	}
}
