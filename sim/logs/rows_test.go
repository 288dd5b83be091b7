package logs

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/sim"
)

// A listReader makes keys of all values of its fields but the last. The last field is the instant of a
// decision.
type listReader struct{ wants []Want }

func (l listReader) Wants() []Want { return l.wants }

func (l listReader) Read(row *Row) (Record, error) {
	var texts []string
	for i := range len(l.wants) - 1 {
		texts = append(texts, fmt.Sprintf("%s", row.All(i)))
	}
	r := Record{Key: []byte(strings.Join(texts, " ")), Cost: 1}
	if row.First(len(l.wants)-1) != nil {
		r.At = 1_700_000_009_000_000
	}
	if strings.Contains(string(r.Key), "stop") {
		return r, &StopError{errors.New("stopped")}
	}
	return r, nil
}

func wants(names ...string) listReader {
	var l listReader
	for _, name := range names {
		l.wants = append(l.wants, Want{Path: strings.Split(name, "."), For: "the test"})
	}
	l.wants = append(l.wants, Want{Path: []string{"rate_limit", "at"}})
	return l
}

func TestRows(t *testing.T) {
	const combined = `192.0.2.1 - bob [14/Nov/2023:22:13:20 +0000] "GET /a?b=\"c HTTP/1.1" 404 5 "https://x.example/" "Mozilla [5] \"x\""`
	seconds := func(r RowReader) Format {
		f, err := NewCombined(1, r)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	fields := Fields{Time: "ts", Duration: "duration"}
	for _, test := range []struct {
		name     string
		format   Format
		text     string
		want     string
		instants string
	}{
		{"JSON", NewJSON(fields, wants("request.headers.X-A", "request.uri", "status")),
			`{"ts":1700000000.5,"duration":0.25,"status":200,"request":{"uri":"/\u0062\"","headers":{"X-A":["a","b"],"X-B":["c"]}}}`,
			`1700000000250000 [a b] [/b"] [200] 1`, "seconds since the Unix epoch"},
		{"JSON without the fields", NewJSON(fields, wants("request.headers.X-A", "user_id")), `{"ts":1700000000,"user_id":{},"request":{"headers":"x"}}`,
			"1700000000000000 [] [] 1", "seconds since the Unix epoch"},
		{"recorded instant", NewJSON(fields, wants("status")), `{"ts":1700000000,"status":1,"rate_limit":{"at":2}}`,
			"1700000009000000 [1] 1", "those of the recorded decisions"},
		{"CSV", NewTable(fields, ',', wants("request.method", "status")), "status,ts,request.method,duration\n200,1700000000.5,GET,0.5\n",
			"1700000000000000 [GET] [200] 1", "seconds since the Unix epoch"},
		{"TSV with an empty value", NewTable(Fields{Time: "ts"}, '\t', wants("a", "b")), "ts\ta\tb\n1700000000\t\tx\n",
			"1700000000000000 [] [x] 1", "seconds since the Unix epoch"},
		{"combined", seconds(wants("request.client_ip", "user_id", "request.method", "request.uri", "request.proto", "status", "request.headers.Referer", "request.headers.User-Agent")),
			combined, `1700000000 [192.0.2.1] [bob] [GET] [/a?b=\"c] [HTTP/1.1] [404] [https://x.example/] [Mozilla [5] \"x\"] 1`, ""},
		{"common", seconds(wants("status", "request.headers.Referer")), `192.0.2.1 - - [14/Nov/2023:22:13:20 +0000] "GET /" 200 5`,
			"1700000000 [200] [] 1", ""},
		{"combined without anything", seconds(wants("request.method", "status", "user_id")), `192.0.2.1 - - [14/Nov/2023:22:13:20 +0000]`,
			"1700000000 [] [] [] 1", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, summaries := read(t, 0, 0, source(t, test.text, test.format))
			if len(got) == 1 && test.instants == "" {
				got[0] = got[0][:10] + got[0][16:]
			}
			if len(got) != 1 || got[0] != test.want || test.instants != "" && summaries[0].Instants != test.instants {
				t.Errorf("requests = %q, %+v, want %q, instants: %s", got, summaries[0], test.want, test.instants)
			}
		})
	}
}

func TestRowsRefuse(t *testing.T) {
	if _, err := NewCombined(1, wants("request.host")); err == nil ||
		!strings.Contains(err.Error(), "the combined log format has no request.host, which the test needs: use a log of Caddy") {
		t.Errorf("error = %v, want that there is no host", err)
	}
	for text, want := range map[string]string{
		"ts,b\n1,2\n":           "the table has no column a, which the test needs: use a log that has it, or --limit and --key with one of ts, b",
		"ts,a\n1,stop\n2,b\n":   "log, line 2: stopped",
		"time,a\n1,stop\n2,b\n": `no column "ts": use one of time, a`,
	} {
		f := NewTable(Fields{Time: "ts"}, ',', wants("a"))
		if _, err := readAll(source(t, text, f)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error = %v, want %s", text, err, want)
		}
	}
	summary, err := readAll(source(t, "{}\n{\"ts\":1,\"a\":[1,}\n[]\n{\"ts\":\n", NewJSON(Fields{Time: "ts"}, wants("a"))))
	if err != nil || summary.Unreadable < 3 {
		t.Errorf("bad JSON: %+v, %v, want unreadable lines", summary, err)
	}
}

// readAll reads a source and discards its requests.
func readAll(s Source) (Summary, error) {
	summaries, err := Read([]Source{s}, new(sim.Keys), 0, 0, func(sim.Arrival) {})
	if err != nil {
		return Summary{}, err
	}
	return summaries[0], nil
}
