package replay

import (
	"bytes"
	"testing"

	"github.com/fleetlimit/fleetlimit/sim"
	"github.com/fleetlimit/fleetlimit/sim/logs"
)

// FuzzZone has a zone read lines of any kind: they are requests with a limit and a key, or counted.
func FuzzZone(f *testing.F) {
	const handler = `"allow":["192.0.2.7"],"rate_limits":{"user":{"key":"{http.request.header.X-Api-Key}","limit":"20/1m",
		"match":[{"method":["GET","POST"],"not":[{"path":["/v1/free/*"]}]}],"count_status":["2xx"],
		"tier":{"placeholder":"{http.request.uri.query.tier}","trusted":true,"tiers":{"pro":"40/1m"}},
		"cost":{"placeholder":"{http.request.header.X-Cost}","trusted":true},
		"endpoints":[{"path":"/v1/export","limit":"5/1m"},{"path":"/v1/heavy","methods":["POST"],"cost":5}]}}`
	f.Add([]byte(line("GET", "/v1/a?tier=pro", key("k"))), uint8(0))
	f.Add([]byte(line("POST", "/v1//heavy/%2e%2e;x", `"headers":{"X-Api-Key":["a","b"],"X-Cost":["1e9"]}`)), uint8(0))
	f.Add([]byte("ts,status,request.client_ip,request.method,request.uri,request.headers.X-Api-Key,request.headers.X-Cost\n1,200,::1,GET,*,,"), uint8(1))
	f.Add([]byte(`{"ts":1,"rate_limit":{"zone":"user","decision":"rejected","key_hash":"a","tier":"pro","at":9e99,"cost":-1}}`), uint8(2))
	f.Fuzz(func(t *testing.T, text []byte, kind uint8) {
		z, err := Load(site(handler), "user", Options{Recorded: kind%3 == 2})
		if err != nil {
			t.Fatal(err)
		}
		fields := logs.Fields{Time: "ts", Duration: "duration"}
		format := logs.NewJSON(fields, z)
		if kind%3 == 1 {
			format = logs.NewTable(logs.Fields{Time: "ts"}, ',', z)
		}
		lines, err := logs.Open(bytes.NewReader(text))
		if err != nil {
			return
		}
		var keys sim.Keys
		limits := len(z.Limits())
		_, _ = logs.Read([]logs.Source{{Name: "log", Lines: lines, Format: format}}, &keys, 0, 0, func(r sim.Arrival) { // errors are of no use here
			if r.Cost < 1 || int(r.Rule) >= limits {
				t.Errorf("request %+v, want a cost of at least 1, and one of %d limits", r, limits)
			}
			_ = z.KeyName(keys.Name(r.Key))
		})
		_ = z.Check()
	})
}
