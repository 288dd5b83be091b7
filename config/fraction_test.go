package config

import "testing"

func TestParsePercent(t *testing.T) {
	for _, test := range []struct {
		text string
		want float64
	}{
		{"0%", 0}, {"1%", 0.01}, {"0.7%", 0.007}, {"2.50%", 0.025}, {".5%", 0.005}, {"100%", 1}, {"100.0%", 1}, {"007%", 0.07},
	} {
		if got, err := parsePercent(test.text); err != nil || got != test.want {
			t.Errorf("%s = %v, %v; want %v", test.text, got, err, test.want)
		}
	}
	for _, text := range []string{"", "%", "1", ".%", "1%%", "+1%", "-0%", "100.1%", "1e1%", "0x1p1%", "1_0%", "inf%", "1 %", "1.1.1%"} {
		if got, err := parsePercent(text); err == nil {
			t.Errorf("%q was accepted as %v", text, got)
		}
	}
}

func TestPercentLike(t *testing.T) {
	for text, want := range map[string]string{
		"5": "5%", "0.01": "1%", "0.5": "50%", "1.5": "1.5%", "101": "0% to 100%, such as 10%", "0": "0% to 100%, such as 10%",
		"-1": "0% to 100%, such as 10%", "much": "0% to 100%, such as 10%", "nan": "0% to 100%, such as 10%",
	} {
		if got := percentLike(text, "0% to 100%, such as 10%"); got != want {
			t.Errorf("percentage like %q = %s, want %s", text, got, want)
		}
	}
}
