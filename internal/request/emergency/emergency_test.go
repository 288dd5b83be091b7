package emergency

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/api"
	"github.com/fleetlimit/fleetlimit/rules"
)

// An observer keeps what it is told.
type observer struct{ told []string }

func (o *observer) EmergencyOn(e api.Emergency) { o.told = append(o.told, "on "+e.Limit) }
func (o *observer) EmergencyOff(e api.Emergency, why, by string) {
	o.told = append(o.told, "off "+e.Limit+" "+why+by)
}
func (o *observer) EmergencyWithoutAddress() { o.told = append(o.told, "no address") }

// of returns an emergency that ends after some time.
func of(limit string, expiresIn time.Duration) *rules.Emergency {
	return &rules.Emergency{Limit: limit, ExpiresAt: new(time.Now().Add(expiresIn))}
}

// start switches emergency mode on, for this node alone.
func start(t *testing.T, s *Switch, limit string, expiresIn time.Duration) *emergency {
	t.Helper()
	if _, err := s.Start(of(limit, expiresIn)); err != nil {
		t.Fatal(err)
	}
	return s.current.Load()
}

// take takes for a client with an address, and returns how long the client has to wait. taken is false if the
// client is not limited.
func take(t *testing.T, s *Switch, address string) (wait time.Duration, taken bool) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	repl := caddy.NewReplacer()
	vars := map[string]any{caddyhttp.ClientIPVarKey: address}
	ctx := context.WithValue(r.Context(), caddyhttp.VarsCtxKey, vars)
	r = r.WithContext(context.WithValue(ctx, caddy.ReplacerCtxKey, repl))
	repl.Set("http.vars.client_ip", address)
	result, taken, err := s.Take(r, repl, Buffers{})
	if err != nil {
		t.Fatal(err)
	}
	if taken && !result.Decision.OK {
		wait = result.BoundedWait()
	}
	return wait, taken
}

func TestEndsExactly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(new(observer))
		start(t, s, "10/1s", time.Minute)
		time.Sleep(30 * time.Second)
		second := start(t, s, "10/1s", time.Minute) // which prolongs it
		time.Sleep(time.Minute - 1)
		synctest.Wait()
		if got := s.active(time.Now()); got != second {
			t.Errorf("emergency a nanosecond before its end = %p, want %p", got, second)
		}
		if got := s.active(time.Now().Add(1)); got != nil {
			t.Errorf("emergency at its end = %p, want none, even if the timer is late", got)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if got := s.current.Load(); got != nil || s.Describe().Active {
			t.Errorf("emergency after its end = %p, want none", got)
		}
	})
}

// An emergency that was replaced must not end the one that has replaced it.
func TestReplacedEndsNothing(t *testing.T) {
	told := new(observer)
	s := New(told)
	first := start(t, s, "10/1s", time.Hour)
	second := start(t, s, "5/1s", time.Hour)
	s.end(first, "late", "")
	if got := s.active(time.Now()); got != second {
		t.Errorf("emergency = %p, want %p", got, second)
	}
	if second.counts != first.counts {
		t.Error("the counts have changed with the limit, want the same")
	}
	if !s.End("somebody") {
		t.Error("the emergency of this node cannot be ended")
	}
	if want := []string{"on 10/1s", "on 5/1s", "off 5/1s somebody"}; !slices.Equal(told.told, want) {
		t.Errorf("told %q, want %q", told.told, want)
	}
}

// TestFollow has the rules start an emergency while this node has one of its own, which takes precedence.
func TestFollow(t *testing.T) {
	s := New(new(observer))
	follow := func(e *rules.Emergency) {
		t.Helper()
		if err := s.Follow(e); err != nil {
			t.Fatal(err)
		}
	}
	check := func(when, limit string, allNodes bool) {
		t.Helper()
		if got := s.Describe(); got.Limit != limit || got.AllNodes != allNodes || got.Active != (limit != "") {
			t.Errorf("%s, the emergency is %+v, want %q of all nodes: %t", when, got, limit, allNodes)
		}
	}
	follow(nil)
	check("without any", "", false)
	start(t, s, "1/1h", time.Hour)
	follow(of("5/1s", time.Hour))
	check("while the node has its own", "1/1h", false)
	s.End("")
	check("after that of the node", "5/1s", true)
	if s.End("") {
		t.Error("the emergency of the rules is ended on this node alone")
	}
	follow(of("6/1s", time.Hour))
	check("after the rules have another one", "6/1s", true)
	follow(of("7/1s", -time.Second))
	check("after the rules have one that is over", "", false)
}

// TestTake limits each address for itself, and announces no wait beyond the end of the emergency.
func TestTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := new(observer)
		s := New(told)
		if _, taken := take(t, s, "192.0.2.1"); taken {
			t.Error("a request is limited while emergency mode is off")
		}
		start(t, s, "1/1h", time.Minute)
		for _, tc := range []struct {
			address string
			wait    time.Duration
			taken   bool
		}{
			{"192.0.2.1", 0, true}, {"192.0.2.1", time.Minute + time.Microsecond, true}, {"192.0.2.2", 0, true}, {"", 0, false}, {"", 0, false},
		} {
			if wait, taken := take(t, s, tc.address); wait != tc.wait || taken != tc.taken {
				t.Errorf("%q waits for %v (limited: %t), want %v (%t)", tc.address, wait, taken, tc.wait, tc.taken)
			}
		}
		if want := []string{"on 1/1h", "no address"}; !slices.Equal(told.told, want) {
			t.Errorf("told %q, want %q", told.told, want)
		}
		s.End("")
	})
}

func TestParseLimit(t *testing.T) {
	for text, want := range map[string]string{ // "" if the text is refused
		"10/1s": "10/1s", "5/s burst 20": "5/1s burst 20", "block": "", "unlimited": "", "5/1s burst": "",
	} {
		limit, err := ParseLimit(text)
		got := ""
		if err == nil {
			got = limit.String()
		}
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%s = %q, %v, want %q", text, got, err, want)
		}
	}
}
