package stores

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/config"
	"github.com/fleetlimit/fleetlimit/internal/fleet/membership"
	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/redisconn"
)

// An observer records what it is told.
type observer struct {
	told  []string
	ended []string
}

func (*observer) Asked(string) func(time.Duration, error) { return func(time.Duration, error) {} }
func (o *observer) Failed(store string, err error) {
	o.told = append(o.told, fmt.Sprintf("%s failed: %v", store, err))
}
func (o *observer) Recovered(store string, uncounted uint64) {
	o.told = append(o.told, fmt.Sprintf("%s recovered after %d", store, uncounted))
}
func (*observer) Breaker(string, redisconn.Breaker)    {}
func (*observer) Lookup(string, error)                 {}
func (*observer) Mismatch(string, membership.Mismatch) {}
func (*observer) NodesNotKept(string, error)           {}
func (*observer) Overflow(string)                      {}
func (o *observer) Ended(store string)                 { o.ended = append(o.ended, store) }

// resolved returns the target of a JSON configuration, or nil for "".
func resolved(t *testing.T, redis string) *Target {
	t.Helper()
	if redis == "" {
		return nil
	}
	target, err := Resolve(redisConfig(t, redis), nil)
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// TestAcquireSharesStoreAndClient acquires the stores of two configurations, as a reload does. There is
// no Redis.
func TestAcquireSharesStoreAndClient(t *testing.T) {
	t.Setenv("FLEETLIMIT_TEST_PASSWORD", "secret")
	const redis = `{"addresses": ["192.0.2.1:6379"], "password": "secret"}`
	for _, tc := range []struct {
		name, earlier, later string
		same                 bool // both configurations have one store
		sameCounts           bool
		clients              int
	}{
		{"memory", "", "", true, true, 0},
		{"same", redis, redis, true, true, 1},
		{"same, written otherwise", redis, `{"mode": "standalone", "addresses": ["192.0.2.1:6379"], "key_prefix": "rl",
			"password": "{env.FLEETLIMIT_TEST_PASSWORD}", "timeout": "50ms"}`, true, true, 1},
		{"prefix", redis, `{"addresses": ["192.0.2.1:6379"], "password": "secret", "key_prefix": "b"}`, false, false, 1},
		{"password", redis, `{"addresses": ["192.0.2.1:6379"], "password": "other"}`, false, true, 2},
		{"address", redis, `{"addresses": ["192.0.2.2:6379"], "password": "secret"}`, false, false, 2},
		{"timeout", redis, `{"addresses": ["192.0.2.1:6379"], "password": "secret", "timeout": "60ms"}`, false, true, 2},
		{"tls", redis, `{"addresses": ["192.0.2.1:6379"], "password": "secret", "tls": {}}`, false, true, 2},
		{"memory and Redis", "", redis, false, false, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			told := new(observer)
			targets := [2]*Target{resolved(t, tc.earlier), resolved(t, tc.later)}
			earlier, releaseEarlier := Acquire(targets[0], told)
			later, releaseLater := Acquire(targets[1], told)
			if same := earlier == later; same != tc.same {
				t.Errorf("one store for both = %v, want %v", same, tc.same)
			}
			if same := targets[0].SameCounts(targets[1]); same != tc.sameCounts {
				t.Errorf("the same counts at both = %v, want %v", same, tc.sameCounts)
			}
			if got := len(clients.All()); got != tc.clients {
				t.Errorf("clients = %d, want %d", got, tc.clients)
			}
			for _, target := range targets {
				if target != nil && strings.Contains(target.ID()+target.Place()+target.String(), "secret") {
					t.Errorf("the texts %q, %q and %q have the password", target.ID(), target.Place(), target)
				}
			}

			releaseEarlier()
			if got, want := len(clients.All()), min(tc.clients, 1); got != want || len(stores.All()) != 1 {
				t.Errorf("%d clients of %d stores are left after the earlier one ended, want %d of one", got, len(stores.All()), want)
			}
			releaseLater()
			if len(clients.All())+len(stores.All()) != 0 {
				t.Errorf("clients %v and stores %v are left after both ended", clients.All(), stores.All())
			}
			names := make(map[string]bool)
			for _, s := range []*Store{earlier, later} {
				if s.Leases() != nil {
					names[s.Name()] = true
				}
			}
			slices.Sort(told.ended)
			if want := slices.Sorted(maps.Keys(names)); !slices.Equal(told.ended, want) {
				t.Errorf("names that ended = %q, want %q", told.ended, want)
			}
		})
	}
}

// TestBreakerOfTarget has two targets that differ only in their breakers.
func TestBreakerOfTarget(t *testing.T) {
	const redis = `{"addresses": ["192.0.2.1:6379"]}`
	for failures, same := range map[int]bool{0: true, 3: false} {
		other, err := Resolve(redisConfig(t, redis), &config.Breaker{Failures: failures})
		if err != nil {
			t.Fatal(err)
		}
		if got := other.ID() == resolved(t, redis).ID(); got != same {
			t.Errorf("failures %d: same store = %v, want %v", failures, got, same)
		}
	}
}

// TestZonesOfStore opens one zone in two stores. The zone has other counts in each of them.
func TestZonesOfStore(t *testing.T) {
	memory, releaseMemory := Acquire(nil, new(observer))
	redis, releaseRedis := Acquire(resolved(t, `{"addresses": ["192.0.2.1:6379"]}`), new(observer))
	defer releaseMemory()
	defer releaseRedis()
	var opened []limiter.Counts
	for _, s := range []*Store{memory, memory, redis} {
		z, release := s.Open("api")
		defer release()
		opened = append(opened, z)
	}
	if opened[0] != opened[1] || opened[0] == opened[2] {
		t.Errorf("zones = %p, %p, %p, want one in each store", opened[0], opened[1], opened[2])
	}
	if got := MemoryZones(); len(got) != 1 || got[0] != opened[0] {
		t.Errorf("zones in memory = %v, want only the one there", got)
	}
}
