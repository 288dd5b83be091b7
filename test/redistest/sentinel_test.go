package redistest

import (
	"testing"

	redis "github.com/redis/go-redis/v9"
)

// Each caller of SharedSentinel leaves a fault behind, and the last one a failover.
func TestSharedSentinelIsHealthyForEachCaller(t *testing.T) {
	var promoted *Server
	for _, fault := range []func(*Sentinel){
		func(s *Sentinel) { s.Sentinels[0].Pause() },
		func(s *Sentinel) { s.Replica.Kill() },
		func(s *Sentinel) {
			client := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: s.MasterName, SentinelAddrs: s.Addrs})
			t.Cleanup(func() { _ = client.Close() })
			s.Primary.Pause()
			Eventually(t, "the failover", func() bool { return client.Set(t.Context(), "k", "after", 0).Err() == nil })
			if got := get(t, s.Replica, "k"); got != "after" {
				t.Errorf("k = %q at the new primary, want after", got)
			}
			promoted = s.Replica
		},
		func(s *Sentinel) {
			if s.Primary != promoted {
				t.Errorf("after a failover the primary is %s, want %s", s.Primary.Addr, promoted.Addr)
			}
		},
	} {
		s := SharedSentinel(t)
		if got := get(t, s.Primary, "k"); got != "" {
			t.Errorf("k = %q at the start, want no key", got)
		}
		set(t, s.Primary, "k", "v")
		fault(s)
	}
}
