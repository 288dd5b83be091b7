package redistest

import (
	"context"
	"errors"
	"testing"

	redis "github.com/redis/go-redis/v9"
)

func TestSentinelPromotesTheReplica(t *testing.T) {
	s := NewSentinel(t)
	if len(s.Addrs) != 3 {
		t.Fatalf("%d sentinels, want 3", len(s.Addrs))
	}
	client := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: s.MasterName, SentinelAddrs: s.Addrs})
	t.Cleanup(func() { _ = client.Close() })
	if err := client.Set(t.Context(), "k", "before", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if got := get(t, s.Primary, "k"); got != "before" {
		t.Errorf("k = %q at the primary, want before", got)
	}

	s.Primary.Kill()
	if err := until(s.replicaIsPrimary); err != nil {
		t.Fatal(err)
	}
	if err := until(func(ctx context.Context) error { return client.Set(ctx, "k", "after", 0).Err() }); err != nil {
		t.Fatal(err)
	}
	if got := get(t, s.Replica, "k"); got != "after" {
		t.Errorf("k = %q at the new primary, want after", got)
	}
}

// replicaIsPrimary returns why the server that was the replica has not taken over.
func (s *Sentinel) replicaIsPrimary(ctx context.Context) error {
	role, err := s.Replica.client.Do(ctx, "role").Slice()
	if err != nil {
		return err
	}
	if role[0] != "master" {
		return errors.New("the replica is still one")
	}
	return nil
}

func TestSharedSentinelIsWellForEachCaller(t *testing.T) {
	var first *Server
	for _, fault := range []func(*Sentinel){
		func(s *Sentinel) { s.Sentinels[0].Pause() },
		func(s *Sentinel) { s.Replica.Kill() },
		func(s *Sentinel) {
			first = s.Primary
			s.Primary.Pause()
			if err := until(s.replicaIsPrimary); err != nil {
				t.Fatal(err)
			}
		},
		func(s *Sentinel) {
			if s.Primary == first {
				t.Error("after a failover, the old primary is handed out as primary")
			}
		},
	} {
		s := SharedSentinel(t)
		if got := get(t, s.Primary, "k"); got != "" {
			t.Errorf("k = %q at the start, want nothing", got)
		}
		set(t, s.Primary, "k", "v")
		fault(s)
	}
}
