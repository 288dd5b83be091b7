package config

import (
	"testing"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

func TestMaxOvershootLine(t *testing.T) {
	for _, test := range []struct {
		text string
		want Fraction
	}{
		{"0%", 0}, {"1%", 0.01}, {"0.7%", 0.007}, {"2.50%", 0.025}, {".5%", 0.005}, {"100%", 1}, {"100.0%", 1}, {"007%", 0.07},
	} {
		var got *Fraction
		l := maxOvershootLine(caddyfile.NewTestDispenser(""), &got)
		if err := l.Parse([]string{test.text}); err != nil || got == nil || *got != test.want {
			t.Errorf("max_overshoot %s = %v, %v; want %v", test.text, got, err, test.want)
		}
	}
	for _, text := range []string{"", "%", "1", ".%", "1%%", "+1%", "-0%", "100.1%", "1e1%", "0x1p1%", "1_0%", "inf%", "1 %", "1.1.1%"} {
		var got *Fraction
		l := maxOvershootLine(caddyfile.NewTestDispenser(""), &got)
		if err := l.Parse([]string{text}); err == nil || got != nil {
			t.Errorf("max_overshoot %q was accepted as %v", text, *got)
		}
	}
}
