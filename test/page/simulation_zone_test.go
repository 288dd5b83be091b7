package page

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
)

// The simulator's page about a zone has the limits of the zone, and the keys that any of them rejects.
func TestSimulationOfZone(t *testing.T) {
	dir := t.TempDir()
	log, config, file := filepath.Join(dir, "access.log"), filepath.Join(dir, "Caddyfile"), filepath.Join(dir, "report.html")
	var lines strings.Builder
	for i := range 300 {
		fmt.Fprintf(&lines, `{"ts":%d.5,"duration":0.1,"request":{"client_ip":"192.0.2.%d","method":"GET","uri":"/%s"},"rate_limit":{"zone":"user","decision":"admitted"}}`+"\n",
			1_767_225_600+i, min(i%5, 2), []string{"a", "export"}[i%2])
	}
	site := "http://localhost:80 {\nrate_limit {\nzone user {\nkey {client_ip}\nlimit 10/1m\nendpoint /export 5/1m\n}\n}\n}\n"
	for name, text := range map[string]string{log: lines.String(), config: site} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := nodetest.Command("rate-limit", "simulate", log, "--config", config, "--adapter", "caddyfile", "--zone", "user",
		"--endpoint", "/export", "--clients", "retry-after", "--html", file).CombinedOutput(); err != nil {
		t.Fatalf("simulate: %v\n%s", err, out)
	}
	b := open(t, newBrowser(t), "file://"+file)
	b.await("all charts", `document.querySelectorAll("figure canvas").length === 2`)
	for _, text := range []string{
		"The zone user, as it is configured", "Who is rejected by any limit of the zone", "of the 300 decisions that the log has are repeated",
		"Clients that are rejected: retry-after.", "endpoint /export ",
	} {
		b.awaitText("#report", text)
	}
	b.awaitText("tr.marked", "/export")
	for _, width := range []int64{1100, 375} {
		b.size(width, 1500)
		b.checkWidth(fmt.Sprint(width, " pixels"))
	}
	b.checkAccess("the page of a zone")
}
