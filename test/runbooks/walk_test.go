package runbooks

import (
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
)

const folder = "../../docs/runbooks/"

// A walk runs the commands of a page against a node.
type walk struct {
	t        *testing.T
	node     *nodetest.Node
	programs string   // the folder with caddy
	commands []string // the commands that have not run yet
	names    []string // what the page calls servers and files, each before its name here
}

// command matches a command of a page, which may be in a list.
var command = regexp.MustCompile(`(?m)^ *\$ (.+)$`)

// begin begins to walk a page. names are pairs: what the page calls a server or a file, and its name here.
// What the page writes about localhost is about the node.
func begin(t *testing.T, page string, n *nodetest.Node, names ...string) *walk {
	t.Helper()
	text, err := os.ReadFile(folder + page)
	if err != nil {
		t.Fatal(err)
	}
	w := &walk{t: t, node: n, programs: t.TempDir(), names: names}
	if err := os.Symlink(n.Binary, filepath.Join(w.programs, "caddy")); err != nil {
		t.Fatal(err)
	}
	for _, match := range command.FindAllStringSubmatch(string(text), -1) {
		w.commands = append(w.commands, match[1])
	}
	t.Cleanup(func() {
		if len(w.commands) > 0 {
			t.Errorf("%s has commands that did not run: %q", page, w.commands)
		}
	})
	return w
}

// next runs the next command of the page, which must begin with these words and succeed.
func (w *walk) next(begins string) (printed string) {
	w.t.Helper()
	printed, code := w.run(begins)
	if code != 0 {
		w.t.Errorf("%s... ends with %d: %s", begins, code, printed)
	}
	return printed
}

// run runs the next command of the page, which must begin with these words.
func (w *walk) run(begins string) (printed string, code int) {
	w.t.Helper()
	if len(w.commands) == 0 || !strings.HasPrefix(w.commands[0], begins) {
		w.t.Fatalf("the next commands of the page are %q, want %s", w.commands, begins)
	}
	line := w.commands[0]
	w.commands = w.commands[1:]
	return w.exec(line)
}

// exec runs a command of the page, and returns what it prints, with single spaces.
func (w *walk) exec(line string) (printed string, code int) {
	w.t.Helper()
	if header, isCurl := strings.CutPrefix(line, "curl -si -H '"); isCurl {
		header, _, _ = strings.Cut(header, "'")
		return w.response(header), 0
	}
	cmd := exec.Command("sh", "-c", strings.NewReplacer(w.names...).Replace(line))
	cmd.Env = append(os.Environ(), "PATH="+w.programs+":"+os.Getenv("PATH"), "CADDY_ADMIN="+w.node.Admin,
		"XDG_DATA_HOME="+filepath.Dir(w.node.Storage))
	out, err := os.Create(filepath.Join(w.programs, "output")) // no pipe, which `caddy start` would keep open
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	cmd.Stdout, cmd.Stderr = out, out
	_ = cmd.Run() // the exit code says what became of it
	text, err := os.ReadFile(out.Name())
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Logf("$ %s\n%s", line, text)
	return strings.Join(strings.Fields(string(text)), " "), cmd.ProcessState.ExitCode()
}

// response returns the whole response to a request with a header.
func (w *walk) response(header string) string {
	w.t.Helper()
	resp, err := w.node.Client.Do(newRequest(w.t, w.node, header))
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := httputil.DumpResponse(resp, true)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

// has checks that a command has printed some texts.
func (w *walk) has(printed string, texts ...string) {
	w.t.Helper()
	for _, text := range texts {
		if !strings.Contains(printed, text) {
			w.t.Errorf("it prints %q, want %q in it", printed, text)
		}
	}
}

// status returns the status of a request with a key.
func status(t *testing.T, n *nodetest.Node, key string) int {
	t.Helper()
	code, _, err := n.Get("/", "X-Api-Key: "+key)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// send sends requests with the keys that key makes, until stop is called.
func send(n *nodetest.Node, key func(i int) string) (stop func()) {
	return n.Send(time.Millisecond, func(i int) (path, header string) { return "/", "X-Api-Key: " + key(i) })
}

// always returns a key.
func always(key string) func(int) string { return func(int) string { return key } }
