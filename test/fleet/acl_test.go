package fleet

import (
	"os"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// TestLeastPrivilege logs in as the user of docs/operate/redis.md, on one server and on a cluster, and uses
// all algorithms and everything else that calls Redis.
func TestLeastPrivilege(t *testing.T) {
	text, err := os.ReadFile("../../docs/operate/redis.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rules, _ := strings.Cut(string(text), "redis-cli ACL SETUSER ")
	rules, more, _ := strings.Cut(rules, "```")
	_, more, found := strings.Cut(more, "On a cluster, add `")
	more, _, _ = strings.Cut(more, "`")
	if !found {
		t.Fatal("docs/operate/redis.md does not say what a cluster needs besides")
	}
	plain := strings.NewReplacer("'", "", `\`, "")

	for name, test := range map[string]struct {
		rules   string
		servers []*redistest.Server
		mode    string
	}{
		"standalone": {rules, []*redistest.Server{redistest.NewServer(t)}, ""},
		"cluster":    {rules + " " + more, redistest.NewCluster(t).Servers, "cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			command := []any{"acl", "setuser"}
			for _, word := range strings.Fields(plain.Replace(test.rules)) {
				command = append(command, word)
			}
			var addrs []string
			for _, s := range test.servers {
				if err := s.Client().Do(t.Context(), command...).Err(); err != nil {
					t.Fatal(err)
				}
				addrs = append(addrs, s.Addr)
			}
			options := "redis " + test.mode + " {\n\taddress " + strings.Join(addrs, " ") +
				"\n\tusername fleet\n\tpassword secret\n\ttimeout 5s\n}"
			var site strings.Builder
			site.WriteString("\trate_limit {\n")
			for zone, algorithm := range algorithms {
				site.WriteString("\t\tzone " + zone + " {\n\t\t\tkey {header.X-Api-Key}\n\t\t\tlimit 3/24h\n\t\t\talgorithm " + algorithm + "\n\t\t}\n")
			}
			// The zone tight denies first. The takes of the other zones, by another key, are refunded.
			site.WriteString("\t\tzone tight {\n\t\t\tkey static\n\t\t\tlimit 2/24h\n\t\t\tconcurrent 5\n\t\t}\n\t}")
			n := nodetest.Start(t, options, site.String())
			for _, status := range []int{200, 200, 429, 429} {
				if h := n.MustGet(status, "/", "X-Api-Key: a"); degraded(h) {
					t.Fatalf("headers = %v, want a decision by Redis; the log is\n%s", h, n.Logged())
				}
			}
			for _, s := range test.servers {
				if log := s.Client().Do(t.Context(), "acl", "log").Val(); len(log.([]any)) > 0 {
					t.Errorf("%s has denied: %v", s.Addr, log)
				}
			}
		})
	}
}
