package fleetlimit

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
)

// jsonApp returns an app from its JSON configuration. It is cleaned up with the test.
func jsonApp(t *testing.T, config string) *App {
	t.Helper()
	a := new(App)
	if err := json.Unmarshal([]byte(config), a); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Cleanup() })
	return a
}

// provisionedApp returns an app from its JSON configuration, provisioned.
func provisionedApp(t *testing.T, config string) *App {
	t.Helper()
	a := jsonApp(t, config)
	ctx, err := caddy.ProvisionContext(&caddy.Config{Admin: &caddy.AdminConfig{Disabled: true}})
	if err == nil {
		err = a.Provision(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// clientsInUse returns how many stores use each client.
func clientsInUse() (uses []int) {
	clientPool.Range(func(identity, _ any) bool {
		n, _ := clientPool.References(identity)
		uses = append(uses, n)
		return true
	})
	return uses
}

// TestReloadSharesStoreAndClient provisions pairs of configurations, as a reload does, without a
// Redis.
func TestReloadSharesStoreAndClient(t *testing.T) {
	t.Setenv("FLEETLIMIT_TEST_PASSWORD", "secret")
	const redis = `{"redis": {"addresses": ["192.0.2.1:6379"], "password": "secret"}}`
	for _, tc := range []struct {
		name, earlier, later string
		same                 bool // store
		clients              int
	}{
		{"memory", `{}`, `{}`, true, 0},
		{"same", redis, redis, true, 1},
		{"same, written otherwise", redis, `{"redis": {"mode": "standalone", "addresses": ["192.0.2.1:6379"], "key_prefix": "rl",
			"password": "{env.FLEETLIMIT_TEST_PASSWORD}", "timeout": "50ms"}}`, true, 1},
		{"prefix", redis, `{"redis": {"addresses": ["192.0.2.1:6379"], "password": "secret", "key_prefix": "b"}}`, false, 1},
		{"password", redis, `{"redis": {"addresses": ["192.0.2.1:6379"], "password": "other"}}`, false, 2},
		{"address", redis, `{"redis": {"addresses": ["192.0.2.2:6379"], "password": "secret"}}`, false, 2},
		{"timeout", redis, `{"redis": {"addresses": ["192.0.2.1:6379"], "password": "secret", "timeout": "60ms"}}`, false, 2},
		{"breaker", redis, redis[:len(redis)-1] + `, "breaker": {"failures": 3}}`, false, 2},
		{"same breaker, written otherwise", redis, redis[:len(redis)-1] + `, "breaker": {"failures": 0}}`, true, 1},
		{"tls", redis, `{"redis": {"addresses": ["192.0.2.1:6379"], "password": "secret", "tls": {}}}`, false, 2},
		{"memory and Redis", `{}`, redis, false, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a, b := provisionedApp(t, tc.earlier), provisionedApp(t, tc.later)
			if same := a.store == b.store; same != tc.same {
				t.Errorf("one store for both = %v, want %v", same, tc.same)
			}
			if got := clientsInUse(); len(got) != tc.clients {
				t.Errorf("clients = %d, want %d", len(got), tc.clients)
			}
			clientPool.Range(func(identity, _ any) bool {
				if strings.Contains(identity.(string), "secret") {
					t.Errorf("the key of a client is %v, with the password", identity)
				}
				return true
			})

			a.Cleanup()
			a.Cleanup() // releases only once
			if got := b.store.limits; got == nil || len(clientsInUse()) != min(tc.clients, 1) {
				t.Errorf("the later configuration has store %v and clients %v after the earlier one ended", got, clientsInUse())
			}
			b.Cleanup()
			if got := clientsInUse(); len(got) != 0 {
				t.Errorf("clients after both ended = %v, want none", got)
			}
		})
	}
}
