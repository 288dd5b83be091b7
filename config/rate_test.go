package config

import (
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
)

func TestParseLimit(t *testing.T) {
	per := func(events int64, window time.Duration, burst int64) Limit {
		return Limit{Events: events, Window: caddy.Duration(window), Burst: burst}
	}
	for _, test := range []struct {
		text string
		want Limit
		as   string // how String writes it
	}{
		{"1/s", per(1, time.Second, 0), "1/1s"},
		{"100/m", per(100, time.Minute, 0), "100/1m"},
		{"100/h", per(100, time.Hour, 0), "100/1h"},
		{"100/d", per(100, 24*time.Hour, 0), "100/1d"},
		{"100/ms", per(100, time.Millisecond, 0), "100/1ms"},
		{"20/10s", per(20, 10*time.Second, 0), "20/10s"},
		{"1000/24h", per(1000, 24*time.Hour, 0), "1000/1d"},
		{"100/1m30s", per(100, 90*time.Second, 0), "100/90s"},
		{"100/1.5s", per(100, 1500*time.Millisecond, 0), "100/1500ms"},
		{"100/.5s", per(100, 500*time.Millisecond, 0), "100/500ms"},
		{"100/1001us", per(100, 1001*time.Microsecond, 0), "100/1001us"},
		{"007/s", per(7, time.Second, 0), "7/1s"},
		{"1000000000000/3650d", per(1_000_000_000_000, 87600*time.Hour, 0), "1000000000000/3650d"},
		{"100/1m burst 150", per(100, time.Minute, 150), "100/1m burst 150"},
		{"100/1m burst 1", per(100, time.Minute, 1), "100/1m burst 1"},
		{"unlimited", Limit{Unlimited: true}, "unlimited"},
		{"block", Limit{Block: true}, "block"},
	} {
		got, err := ParseLimit(test.text)
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		if *got != test.want {
			t.Errorf("%s = %+v, want %+v", test.text, *got, test.want)
		}
		if as := got.String(); as != test.as {
			t.Errorf("%s is written %q, want %q", test.text, as, test.as)
		}
	}
}

func TestParseLimitRefuses(t *testing.T) {
	for _, test := range []struct{ text, remedy string }{
		{"", "use <events>/<window>"},
		{"100", "use <events>/<window>"},
		{"100 / 1m", "use 100/1m"},
		{"Unlimited", "use unlimited"},
		{"/1m", "whole number"},
		{"0/1m", "use block"},
		{"00/1m", "use block"},
		{"-1/1m", "whole number"},
		{"+1/1m", "whole number"},
		{"1e3/1m", "whole number"},
		{"1_000/1m", "use 1000/1m"},
		{"0.5/1m", "a longer window"},
		{"٣/1m", "whole number"},
		{"1000000000001/1m", "1000000000000 or less"},
		{"9223372036854775808/1m", "1000000000000 or less"},
		{"100/", "use a duration"},
		{"100/60", "use 100/60s"},
		{"100/month", "use 100/30d"},
		{"100/1m/2", "its unit"},
		{"100/Infd", "its unit"},
		{"100/0s", "1ms or more"},
		{"100/-1m", "1ms or more"},
		{"100/999us", "1ms or more"},
		{"100/3650d1us", "3650d or less"},
		{"100/1000001ns", "whole microseconds"},
		{"100/1m burst", "burst 200"},
		{"100/1m burst 0", "1 or more"},
		{"100/1m burst -1", "whole number"},
		{"100/1m burst 1000000000001", "1000000000000 or less"},
		{"100/1m burst 5 6", "unexpected"},
		{"100/1m 200", "`burst 200`"},
		{"100/1m burst=20", "use `burst 20`"},
		{"100/1m brust 20", "use `burst <n>`"},
		{"100/1m nodelay", "never delayed"},
		{"100/1m 10/1s", "another zone"},
		{"100 per minute", "use 100/1m"},
		{"10rps", "use 10/1s"},
		{"rate=10r/s burst=20", "use 10/1s"},
		{"1,000/m", "use 1000/1m"},
		{"100:60", "use 100/60s"},
		{"off", "use unlimited"},
		{"none", "use unlimited"},
		{"-1", "use unlimited"},
		{"0", "use block"},
		{"deny", "use block"},
		{"{env.LIM}", "use {$LIM}"},
		{"{env.LIM}/1m", "use {$LIM}"},
		{"$LIM", "use {$LIM}"},
		{"{http.vars.limit}", "use `tier`"},
		{"block burst 5", "without `burst`"},
		{"unlimited burst 5", "without `burst`"},
		{"block 5/1m", "another zone"},
	} {
		got, err := ParseLimit(test.text)
		if err == nil {
			t.Errorf("%q = %v, want an error", test.text, got)
		} else if !strings.Contains(err.Error(), test.remedy) {
			t.Errorf("%q: the error is %q, want %q in it", test.text, err, test.remedy)
		}
	}
}

// FuzzParseLimit checks that accepted rates are valid and that ParseLimit reads what String writes.
func FuzzParseLimit(f *testing.F) {
	for _, seed := range []string{
		"100/1m", "1/s burst 5", "unlimited", "block", "7/1d12h", "0.5/s", "1/999999h", "5/1µs", "1/-d",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		limit, err := ParseLimit(text)
		if err != nil {
			return
		}
		if err := limit.Check(); err != nil {
			t.Fatalf("%q was accepted as %+v, which is not valid: %v", text, *limit, err)
		}
		again, err := ParseLimit(limit.String())
		if err != nil {
			t.Fatalf("%q is written %q, which is refused: %v", text, limit, err)
		}
		if *again != *limit {
			t.Fatalf("%q is written %q, which reads as %+v, want %+v", text, limit, *again, *limit)
		}
	})
}
