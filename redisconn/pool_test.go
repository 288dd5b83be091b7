package redisconn

import (
	"strconv"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// TestPoolStarts has a pool of 2 to 16 connections, and checks after what time one more pipeline may
// start.
func TestPoolStarts(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		name      string
		out       int
		roundTrip time.Duration
		want      time.Duration // after how long, from the newest pipeline, the next may start
	}{
		{"none is under way", 0, 140 * ms, 0},
		{"one is under way", 1, 140 * ms, 0},
		{"both kept ones are under way", 2, 0, ms},
		{"replies come soon", 2, 7 * ms, ms},
		{"replies come late", 2, 140 * ms, 10 * ms},
		{"nearly all are under way", 15, 140 * ms, 10 * ms},
	} {
		now := time.Now()
		p := newPool(2, now)
		p.out, p.roundTrip, p.started = test.out, test.roundTrip, now
		if got := p.due(now.Add(test.want)); !got {
			t.Errorf("%s: no pipeline starts after %v", test.name, test.want)
		}
		if test.want == 0 {
			continue
		}
		if got := p.due(now.Add(test.want - 1)); got {
			t.Errorf("%s: a pipeline starts before %v", test.name, test.want)
		}
		if got := p.untilDue(now.Add(ms / 2)); got != test.want-ms/2 {
			t.Errorf("%s: it is due %v later, want %v", test.name, got, test.want-ms/2)
		}
	}
}

// TestPoolGrows checks whether a pool makes one more connection when something is to be sent.
func TestPoolGrows(t *testing.T) {
	now := time.Now()
	for _, test := range []struct {
		name                       string
		workers, linked, free, out int
		started, refused           time.Duration // before now; refused is 0 if none was refused since
		want                       bool
	}{
		{"none", 0, 0, 0, 0, time.Hour, 0, true},
		{"the first is being made", 1, 0, 0, 0, time.Hour, 0, false},
		{"fewer than are kept", 1, 1, 1, 0, time.Hour, 0, true},
		{"one is free", 2, 2, 1, 1, time.Hour, 0, false},
		{"none is free", 2, 2, 0, 2, time.Second, 0, true},
		{"none is free, but not for long", 2, 2, 0, 2, leastPace - 1, 0, false},
		{"as many are being made", 4, 2, 0, 2, time.Second, 0, false},
		{"the server has refused one", 2, 2, 0, 2, time.Second, refusedPool - 1, false},
		{"the server has refused one before", 2, 2, 0, 2, time.Second, refusedPool, true},
		{"the server has refused one before, and the next is being made", 3, 2, 0, 2, time.Second, refusedPool, false},
		{"the server has refused one, and closed all", 0, 0, 0, 0, time.Second, refusedPool - 1, true},
		{"all that there may be", 16, 16, 0, 16, time.Second, 0, false},
	} {
		p := newPool(2, now)
		p.workers, p.linked, p.free, p.out = test.workers, test.linked, test.free, test.out
		if p.started = now.Add(-test.started); test.refused > 0 {
			p.refused = now.Add(-test.refused)
		}
		if got := p.grows(now); got != test.want {
			t.Errorf("%s: another connection is made: %t, want %t", test.name, got, test.want)
		}
	}
}

// TestPoolWants has replies come late. More connections stay open then.
func TestPoolWants(t *testing.T) {
	for roundTrip, want := range map[time.Duration]int{0: 2, spareEvery - 1: 2, 5 * spareEvery: 7, time.Second: 16} {
		now := time.Now()
		p := newPool(2, now)
		p.roundTrip, p.linked, p.workers, p.free = roundTrip, want-1, want-1, want-1
		if p.wanted() != want || !p.grows(now) {
			t.Errorf("replies after %v: %d connections are wanted, want %d", roundTrip, p.wanted(), want)
		}
		p.linked, p.workers, p.excess = want, want, want
		if p.grows(now) || p.dismisses(now) {
			t.Errorf("replies after %v: %d connections do not stay as they are", roundTrip, want)
		}
	}
}

// TestPoolShrinks has at least three of seven connections be free for some time.
func TestPoolShrinks(t *testing.T) {
	now := time.Now()
	p := newPool(2, now)
	p.linked, p.free = 7, 7
	p.shrink(now.Add(surplusFor)) // begins to look
	for p.free = 6; p.free >= 3; p.free-- {
		p.start(now)
	}
	p.excess, p.free = 0, 7
	if n := p.shrink(now.Add(2*surplusFor - 1)); n != 0 {
		t.Errorf("%d connections are closed before %v", n, surplusFor)
	}
	if n := p.shrink(now.Add(2 * surplusFor)); n != 3 {
		t.Errorf("%d connections are closed, want the 3 that were always free", n)
	}
	dismissed := 0
	for p.dismisses(now) {
		p.linked--
		dismissed++
	}
	if dismissed != 3 {
		t.Errorf("%d connections were dismissed, want 3", dismissed)
	}
	p.excess = 100
	for p.dismisses(now) {
		p.linked--
	}
	if p.linked != p.kept {
		t.Errorf("%d connections stay, want the %d that are kept", p.linked, p.kept)
	}
	if p.renewed = now; p.dismisses(now) || !p.dismisses(now.Add(-1)) {
		t.Error("a renewed pool keeps an old connection or closes a new one")
	}
}

// TestRefusedConnections has a primary that refuses further connections. Calls go on over those that
// are open.
func TestRefusedConnections(t *testing.T) {
	s := redistest.NewServer(t)
	p := redistest.NewProxy(t, s.Addr)
	c := open(t, Options{Addresses: []string{p.Addr}, Timeout: slowTimeout, PoolSize: 1})
	links := settled(t, c)
	if err := s.Client().ConfigSet(t.Context(), "maxclients", "1").Err(); err != nil {
		t.Fatal(err)
	}
	p.Delay(slowTimeout / 2)
	began := time.Now()
	a := arrive(t, c, 75, 75, freshKeys(t))
	if t.Log(a); a.failed > 0 || len(a.writes) == 0 || !c.table.Load().queues[0].breaker.admits() {
		t.Errorf("%d calls failed, want none: the connection that exists works", a.failed)
	}
	refused := infoField(s.Client().Info(t.Context(), "stats").Val(), "rejected_connections")
	most := links + int(time.Since(began)/refusedPool)
	if n, err := strconv.Atoi(refused); err != nil || n == 0 || n > most {
		t.Errorf("%s connections were refused, want 1 to %d: as many as there are, and then one each %v", refused, most, refusedPool)
	}
}
