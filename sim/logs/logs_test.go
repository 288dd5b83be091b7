package logs

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/fleetlimit/fleetlimit/limiter"
	"github.com/fleetlimit/fleetlimit/sim"
)

// read returns the requests of logs as texts, such as "instant key cost".
func read(t *testing.T, from, to limiter.Instant, sources ...Source) ([]string, []Summary) {
	t.Helper()
	var keys sim.Keys
	var got []string
	summaries, err := Read(sources, &keys, from, to, func(r sim.Arrival) {
		got = append(got, fmt.Sprintf("%d %s %d", r.At, keys.Name(r.Key), r.Cost))
	})
	if err != nil {
		t.Fatal(err)
	}
	return got, summaries
}

func source(t *testing.T, text string, f Format) Source {
	t.Helper()
	lines, err := Open(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return Source{Name: "log", Lines: lines, Format: f}
}

func TestFormats(t *testing.T) {
	fields, who := Fields{Time: "at", Duration: "took"}, Keys("who", "cost")
	combined := func(key string) Format {
		f, err := NewCombined(1, Keys(key, ""))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	for _, test := range []struct {
		name   string
		format Format
		text   string
		want   []string // instants are cut to seconds if the format has only those
		failed int64
	}{
		{"Caddy", NewJSON(CaddyFields, Keys("request.client_ip", "")), `{"ts":1700000000.5,"duration":0.25,"request":{"client_ip":"192.0.2.1"}}`,
			[]string{"1700000000250000 192.0.2.1 1"}, 0},
		{"headers", NewJSON(Fields{Time: "ts"}, Keys("request.headers.X-Api-Key", "")),
			`{"ts":1700000000,"request":{"headers":{"X-Api-Key":["a\u0062","x"]}}}`, []string{"1700000000000000 ab 1"}, 0},
		{"units", NewJSON(fields, who), `{"at":1700000000000,"who":1}` + "\n" + `{"at":1700000000001,"who":2,"took":"1ms","cost":7}`,
			[]string{"1700000000000000 1 1", "1700000000000000 2 7"}, 0},
		{"texts", NewJSON(fields, who), `{"at":"2023-11-14T23:13:20.5+01:00","who":"a"}`, []string{"1700000000500000 a 1"}, 0},
		{"bad costs", NewJSON(fields, who), `{"at":1700000000,"who":"a","cost":-3}` + "\n" + `{"at":1700000000,"who":"b","cost":"x"}`,
			[]string{"1700000000000000 a 1", "1700000000000000 b 1"}, 0},
		{"bad lines", NewJSON(fields, who), strings.Join([]string{
			`{"at":1700000000,"who":"a"}`, ``, `x`, `{"at":1700000000`, `{"who":"a"}`, `{"at":"x","who":"a"}`,
			`{"at":-1,"who":"a"}`, `{"at":1700000000,"who":"a","took":"x"}`, strings.Repeat("y", 3*maxLine), `{"at":1700000001,"who":"b"}`,
		}, "\n"), []string{"1700000000000000 a 1", "1700000001000000 b 1"}, 7},
		{"CSV", NewTable(fields, ',', who), "who,cost,at,took\n\"a,b\",2,1700000000,0\r\nc,,1700000001,0.5", []string{
			"1700000000000000 a,b 2", "1700000000500000 c 1"}, 0},
		{"TSV", NewTable(Fields{Time: "at"}, '\t', Keys("who", "")), "at\twho\n1700000000\ta\"b\n", []string{`1700000000000000 a"b 1`}, 0},
		{"combined", combined("request.client_ip"), `192.0.2.1 - - [14/Nov/2023:22:13:20 +0000] "GET / HTTP/1.1" 200 5 "-" "x [y]"`,
			[]string{"1700000000 192.0.2.1 1"}, 0},
		{"users", combined("user_id"), `192.0.2.1 - bob [14/Nov/2023:22:13:20 +0000] "GET /" 200 5` + "\n" +
			`192.0.2.1 - - [14/Nov/2023:22:13:20 +0000] "GET /" 200 5`, []string{"1700000000 bob 1"}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, summaries := read(t, 0, 0, source(t, test.text, test.format))
			if _, seconds := test.format.(*combinedFormat); seconds {
				for i := range got {
					got[i] = got[i][:10] + got[i][16:]
				}
			}
			if !slices.Equal(got, test.want) || summaries[0].Unreadable != test.failed {
				t.Errorf("requests = %q, %d lines unreadable (%s), want %q, %d",
					got, summaries[0].Unreadable, summaries[0].First, test.want, test.failed)
			}
		})
	}
}

func TestKeyless(t *testing.T) {
	got, summaries := read(t, 0, 0, source(t, `{"ts":1,"msg":"started"}`+"\n"+`{"ts":2,"key":""}`+"\n"+`{"ts":3,"key":"a"}`,
		NewJSON(Fields{Time: "ts"}, Keys("key", ""))))
	if len(got) != 1 || summaries[0].Keyless != 2 || summaries[0].Unreadable != 0 {
		t.Errorf("requests = %q, %+v, want 1, and 2 without key", got, summaries[0])
	}
}

func TestTableWithoutColumn(t *testing.T) {
	_, err := Read([]Source{source(t, "at,who\n1,2", NewTable(Fields{Time: "ts"}, ',', Keys("who", "")))}, new(sim.Keys), 0, 0, func(sim.Arrival) {})
	if want := `log, line 1: the table has no column "ts": use one of at, who`; err == nil || err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
}

// TestOrder reads two files whose lines are in the order in which requests ended, and a span of their
// time.
func TestOrder(t *testing.T) {
	fields, who := Fields{Time: "at", Duration: "took"}, Keys("who", "")
	first := "at,took,who\n10,0,a\n30,25,b\n31,0,c\n200,0,d\n100,0,late\n"
	second := "at,took,who\n12,0,e\n"
	both := func() []Source {
		return []Source{source(t, first, NewTable(fields, ',', who)), source(t, second, NewTable(fields, ',', who))}
	}
	got, summaries := read(t, 0, 0, both()...)
	want := []string{"5000000 b 1", "10000000 a 1", "12000000 e 1", "31000000 c 1", "200000000 d 1"}
	if i := slices.IndexFunc(got, func(s string) bool { return strings.Contains(s, "late") }); i >= 0 {
		got = slices.Delete(got, i, i+1)
	}
	if !slices.Equal(got, want) || summaries[0].Late != 0 {
		t.Errorf("requests = %q, late %d, want %q, 0", got, summaries[0].Late, want)
	}
	got, _ = read(t, 10_000_000, 31_000_000, both()...)
	if want := []string{"10000000 a 1", "12000000 e 1"}; !slices.Equal(got, want) {
		t.Errorf("requests of a span = %q, want %q", got, want)
	}
}

// TestLate reads a line that comes more than a minute too late. It is counted, and not lost.
func TestLate(t *testing.T) {
	got, summaries := read(t, 0, 0, source(t, "at,who\n1000,a\n2000,b\n2100,c\n10,d\n", NewTable(Fields{Time: "at"}, ',', Keys("who", ""))))
	if len(got) != 4 || summaries[0].Late != 1 || !slices.IsSorted(got) {
		t.Errorf("requests = %q, late %d, want 4 in order, 1", got, summaries[0].Late)
	}
}

func TestPacked(t *testing.T) {
	const text = "at,who\n1,a\n2,b\n"
	var gz, zst bytes.Buffer
	g := gzip.NewWriter(&gz)
	z, err := zstd.NewWriter(&zst)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []io.WriteCloser{g, z} {
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for name, packed := range map[string]string{"gzip": gz.String(), "zstd": zst.String(), "plain": text} {
		if got, _ := read(t, 0, 0, source(t, packed, NewTable(Fields{Time: "at"}, ',', Keys("who", "")))); len(got) != 2 {
			t.Errorf("%s: requests = %q, want 2", name, got)
		}
	}
}

func TestDetect(t *testing.T) {
	for text, want := range map[string]string{
		`{"ts":1}`: "json", `192.0.2.1 - - [14/Nov/2023:22:13:20 +0000] "GET / HTTP/1.1" 200 5`: "combined",
		"a,b\n1,2": "csv", "a\tb,c\n": "tsv", "hello": "", "": "",
	} {
		got, err := Detect(source(t, text, nil).Lines)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("format of %q = %q, %v, want %q", text, got, err, want)
		}
	}
}

// FuzzRead reads any lines. Each of them is a request or is counted, and requests come in order.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"ts":1700000000.5,"duration":0.25,"request":{"client_ip":"192.0.2.1"}}`), uint8(0))
	f.Add([]byte(`{"ts":1,"request":{"client_ip":["\ud800"]}}`), uint8(0))
	f.Add([]byte("ts,duration,request.client_ip\n1,2,\"3\n4"), uint8(1))
	f.Add([]byte(`192.0.2.1 - - [14/Nov/2023:22:13:20 +0000] "GET / HTTP/1.1" 200 5`), uint8(2))
	f.Add([]byte(`{"ts":1700000000.5,"duration":0.25,"status":[1,[2,{"a":3}],"\ud800"],"request":{"uri":"\u0000"}}`), uint8(3))
	f.Add([]byte("ts,duration,status,request.uri\n1,2,\"3\n4"), uint8(4))
	f.Add([]byte(`192.0.2.1 - - [14/Nov/2023:22:13:20 +0000] "GET / \`), uint8(5))
	f.Fuzz(func(t *testing.T, text []byte, format uint8) {
		var fm Format
		reader := Keys("request.client_ip", "")
		if format/3%2 == 1 {
			reader = wants("status", "request.uri")
		}
		switch format % 3 {
		case 0:
			fm = NewJSON(CaddyFields, reader)
		case 1:
			fm = NewTable(CaddyFields, ',', reader)
		case 2:
			fm, _ = NewCombined(1, reader)
		}
		lines, err := Open(bytes.NewReader(text))
		if err != nil {
			return
		}
		requests, last := int64(0), limiter.Instant(0)
		summaries, err := Read([]Source{{Name: "log", Lines: lines, Format: fm}}, new(sim.Keys), 0, 0, func(r sim.Arrival) {
			if r.At < last || r.Cost < 1 {
				t.Errorf("request %+v after one of %d", r, last)
			}
			last = r.At
			requests++
		})
		if err == nil && summaries[0].Requests != requests {
			t.Errorf("%d requests, the summary says %d", requests, summaries[0].Requests)
		}
	})
}
