// Package deploy checks the files of the folder deploy, as far as that is possible without containers: the
// files agree, and their Caddyfiles run.
package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

func TestMain(m *testing.M) { nodetest.Main(m) }

const (
	root   = "../.."
	folder = root + "/deploy/"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// parse parses a YAML document. Members that the type does not have are ignored.
func parse[Document any](t *testing.T, text string) *Document {
	t.Helper()
	d := new(Document)
	if err := yaml.Unmarshal([]byte(text), d); err != nil {
		t.Fatal(err)
	}
	return d
}

// The settings of a Caddyfile with which the files about containers must agree.
var (
	listener = regexp.MustCompile(`(?m)^:(\d+) \{$`)
	probe    = regexp.MustCompile(`(?m)^\trate_limit_health (/\S+)(?: (\w+))?$`)
	setting  = regexp.MustCompile(`(?m)^\t(shutdown_delay|grace_period) (\d+)s$`)
)

// ports returns the ports at which a Caddyfile listens.
func ports(caddyfile string) (all []string) {
	for _, match := range listener.FindAllStringSubmatch(caddyfile, -1) {
		all = append(all, match[1])
	}
	return all
}

// metricsPort is the port at which the Caddyfiles serve metrics.
const metricsPort = "9180"

// A gateway runs a Caddyfile of the folder, at other ports.
type gateway struct {
	binary, admin, site, metrics string
	redis                        *redistest.Server
}

// serve runs a Caddyfile, with a Redis that has these options.
func serve(t *testing.T, caddyfile string, options ...string) *gateway {
	t.Helper()
	redis := redistest.NewServer(t, options...)
	dir := t.TempDir()
	n := nodetest.Start(t, "defaults {\n\theaders all\n}", "") // builds the program
	g := &gateway{n.Binary, redistest.FreeAddr(), redistest.FreeAddr(), redistest.FreeAddr(), redis}
	config := strings.NewReplacer("\n:8080 {", "\nhttp://"+g.site+" {", "\n:"+metricsPort+" {", "\nhttp://"+g.metrics+" {",
		"address redis:6379", "address "+redis.Addr).Replace(caddyfile)
	config = strings.Replace(config, "{\n", "{\n\tadmin "+g.admin+"\n\tpersist_config off\n", 1)
	path := filepath.Join(dir, "Caddyfile")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	n.Kill()
	n.Config, n.Addr, n.Admin = path, g.site, g.admin
	t.Setenv("REDIS_PASSWORD", "secret")
	t.Setenv("REDIS_ADDRESS", redis.Addr)
	n.Restart()
	return g
}

// run runs a command of the program against the gateway.
func (g *gateway) run(args ...string) (printed string, err error) {
	cmd := exec.Command(g.binary, args...)
	cmd.Env = append(os.Environ(), "CADDY_ADMIN="+g.admin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
