package logs

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/sim"
)

// TestLogsOfOtherSystems reads logs with a byte order mark, and with other line breaks.
func TestLogsOfOtherSystems(t *testing.T) {
	const mark, lines = "\uFEFF", 3
	var all []string
	for i := range lines {
		all = append(all, fmt.Sprintf(`{"ts": %d, "duration": 0, "ip": "192.0.2.1"}`, 1_700_000_000+i))
	}
	for _, tc := range []struct {
		text                 string
		requests, unreadable int64
		first                string
	}{
		{mark + strings.Join(all, "\n") + "\n", lines, 0, ""},
		{mark + strings.Join(all, "\r\n") + "\r\n", lines, 0, ""},
		{strings.Join(all, "\r") + "\r", 0, 1, "use a log whose lines end with a line feed"},
	} {
		plain, err := Open(strings.NewReader(tc.text))
		if err != nil {
			t.Fatal(err)
		}
		if format, err := Detect(plain); err != nil || format != "json" {
			t.Errorf("%.20q... is %q, %v, want json", tc.text, format, err)
		}
		source := Source{Lines: plain, Format: NewJSON(CaddyFields, Keys("ip", ""))}
		summaries, err := Read([]Source{source}, new(sim.Keys), 0, 0, func(sim.Arrival) {})
		if err != nil {
			t.Fatal(err)
		}
		got := summaries[0]
		if got.Requests != tc.requests || got.Unreadable != tc.unreadable || !strings.Contains(got.First, tc.first) {
			t.Errorf("%.20q... has %d requests and %d unreadable lines (%s), want %d and %d (%s)", tc.text,
				got.Requests, got.Unreadable, got.First, tc.requests, tc.unreadable, tc.first)
		}
	}
}

// TestCutLogs reads a packed log that ends too early, in its header or behind it.
func TestCutLogs(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write([]byte(strings.Repeat(`{"ts": 1700000000, "duration": 0, "ip": "192.0.2.1"}`+"\n", 100)))
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{5, packed.Len() - 9} {
		plain, err := Open(bytes.NewReader(packed.Bytes()[:n]))
		if err == nil {
			source := Source{Lines: plain, Format: NewJSON(CaddyFields, Keys("ip", ""))}
			_, err = Read([]Source{source}, new(sim.Keys), 0, 0, func(sim.Arrival) {})
		}
		if err == nil || !strings.Contains(err.Error(), "use a log that can be read to its end") {
			t.Errorf("after %d bytes: the error is %v, want a remedy", n, err)
		}
	}
}
