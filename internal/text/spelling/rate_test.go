package spelling

import "testing"

func TestRate(t *testing.T) {
	for text, want := range map[string]string{
		"100 per minute": "100/1m", "100/min": "100/1m", "100/minute": "100/1m", "100/sec": "100/1s", "100/hour": "100/1h",
		"100/day": "100/1d", "100/week": "100/7d", "100/1w": "100/7d", "100/2 weeks": "100/14d", "100/month": "100/30d",
		"100r/s": "100/1s", "100r/m": "100/1m", "rate=10r/s": "10/1s", "100 r/s": "100/1s", "100/1 minute": "100/1m",
		"100/1minute": "100/1m", "100/5 minutes": "100/5m", "10rps": "10/1s", "10 rpm": "10/1m", "100:60": "100/60s",
		"1k/m": "1000/1m", "1M/d": "1000000/1d", "1_000/m": "1000/1m", "1,000/m": "1000/1m", "1,000,000/h": "1000000/1h",
		"100/60": "100/60s", "100 1m": "100/1m", "100 / 1m": "100/1m", "100/ 1m": "100/1m", "100 requests per 1m": "100/1m",
		"100 requests/minute": "100/1m", "100req/1m": "100/1m", "100-per-minute": "100/1m", "100 every 10s": "100/10s",
		"100/1M": "100/1m", "100/1m,": "100/1m", "100/1m;": "100/1m", "5 per second": "5/1s", "5/s": "5/1s", "100/500ms": "100/500ms",
		"60 requests a minute": "60/1m", "100": "", "": "", "x/1m": "", "100/": "", "100/fortnight": "", "-5/s": "", "1.5/s": "",
		"10,5/s": "", "100/1m burst 5": "", "1e6/m": "", "100 an hour": "100/1h", "100 20": "", "5/5": "5/5s", "1m/100": "100/1m", "s/5": "5/1s",
	} {
		if got := Rate(text); got != want {
			t.Errorf("Rate(%q) = %q, want %q", text, got, want)
		}
	}
}
