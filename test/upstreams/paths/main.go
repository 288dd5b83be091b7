// Command paths asks real upstreams how they read paths, and prints a table of the readings. It needs nginx,
// PHP, Symfony, Node with the packages of parsers/package.json, Java and Tomcat 10: `make upstreams` installs
// them, and writes the table to internal/text/pathreading/testdata. A test there checks that zones know each
// reading of the table.
package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/fleetlimit/fleetlimit/test/redistest"
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run prints a line for each path, with each reading of the path and the upstreams that read it so.
func run(w io.Writer) error {
	dir, err := os.MkdirTemp("", "paths")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	upstreams, stop, err := start(dir)
	defer stop()
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	fmt.Fprint(out, "# How upstreams read paths: the path, and for each way to read it, who does. Upstreams that\n"+
		"# refuse a path are left out. Written by make upstreams.\n")
	for _, path := range paths() {
		readers := make(map[string][]string)
		var readings []string // in the order of upstreams
		for i := range upstreams {
			reading, err := upstreams[i].read(path)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", upstreams[i].name, path, err)
			}
			if reading == "" {
				continue
			}
			if readers[reading] == nil {
				readings = append(readings, reading)
			}
			readers[reading] = append(readers[reading], upstreams[i].name)
		}
		if len(readings) == 0 {
			continue
		}
		fmt.Fprint(out, path)
		for _, reading := range readings {
			fmt.Fprintf(out, " %q %s", reading, strings.Join(readers[reading], ","))
		}
		fmt.Fprintln(out)
	}
	return out.Flush()
}

// paths returns the paths to ask for: all short sequences of the texts that upstreams read differently, and
// some longer paths.
func paths() (all []string) {
	tokens := []string{"a", "/", ";", "%2f", "%3b"}
	all = []string{""}
	for i := 0; len(all[i]) < 1 || strings.Count(all[i], "\x00") < 4; i++ {
		for _, t := range tokens {
			all = append(all, all[i]+"\x00"+t)
		}
	}
	for i := range all {
		all[i] = "/" + strings.ReplaceAll(all[i], "\x00", "")
	}
	return append(all,
		"/login", "/login;%2fx", "/;%2fx/login", "/%6cogin;a%2fb", "/login;x.css", "//x/login", "///x/login", "//x;y/login", "/@scope%2fname",
		"/projects/a%2Fb/x", "/bucket//key", "/users/12%2fx/export", "/a%20b", "/caf%C3%A9", "/login.php/x", "/a%252fb", "/a;x=1/b;y=2",
		"//x/a%2fb;c", "/a//b//c", "/a%2f%2fb", "/%2f/a", "/a%3bx%2fb", "/..a/b..", "/.a", "/...", "/a%2eb", "/a+b", "/a,b:c@d",
		"/login;/x", "/login;a/b", "/login%3fx/y", "/a%3fb%2fc", "/a%3bb%3fc", "/a;b%3fc", "/%3f", "/index.php", "/index.php/", "/index.php/login",
		"/index.phplogin", "/index.php%2flogin", "/index.php//a", "/index.php;x/a", "/index.php/a;b%2fc", "/INDEX.php/login", "/a/index.php/b",
		"/app_dev.php/login", "/app_dev.phplogin", "/app_dev.php", "/index.php/index.php/a", "//index.php/login",
		"/a/../b", "/a/%2e%2e/b", "/a/..;/b", "/a/./b", "/a%2f..%2fb", "/a%5cb",
	)
}

// An upstream is one way in which a server reads paths.
type upstream struct {
	name, addr string
	how        string // the name of the way, if the server has several
}

// start starts the servers, and returns a function that stops them.
func start(dir string) (upstreams []upstream, stop func(), err error) {
	var stops []func()
	stop = func() {
		for _, s := range stops {
			s()
		}
	}
	sources, err := filepath.Abs(filepath.Join("test", "upstreams", "paths"))
	if err != nil {
		return nil, stop, err
	}
	ports := make([]string, 11)
	for i := range ports {
		ports[i] = strconv.Itoa(redistest.FreePort())
	}
	conf := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(conf, []byte(nginxConf(dir, ports[0], ports[1])), 0o600); err != nil {
		return nil, stop, err
	}
	jars := "/usr/share/tomcat10/lib/*:/usr/share/tomcat10/bin/tomcat-juli.jar"
	for _, command := range [][]string{
		{"nginx", "-c", conf, "-p", dir, "-e", filepath.Join(dir, "error.log")},
		{"php", "-S", "127.0.0.1:" + ports[2], filepath.Join(sources, "path.php")},
		{"php", "-S", "127.0.0.1:" + ports[7], filepath.Join(sources, "symfony.php")},
		{"node", filepath.Join(sources, "paths.mjs"), ports[3]},
		{"node", filepath.Join(sources, "..", "parsers", "routers.mjs"), ports[8], ports[9], ports[10]},
		{"java", "-cp", jars, filepath.Join(sources, "Tomcat10.java"), dir, ports[4], ports[5], ports[6]},
	} {
		cmd := exec.Command(command[0], command[1:]...)
		if err := cmd.Start(); err != nil {
			return nil, stop, err
		}
		stops = append(stops, func() {
			_ = cmd.Process.Signal(os.Interrupt)
			_ = cmd.Wait()
		})
	}
	for i, name := range []string{"nginx", "nginx-unmerged", "php", "", "tomcat", "tomcat-decode", "tomcat-passthrough"} {
		if name != "" {
			upstreams = append(upstreams, upstream{name: name, addr: "127.0.0.1:" + ports[i]})
		}
	}
	for _, how := range []string{"url", "url-slashes", "legacy", "legacy-slashes", "authority", "authority-slashes"} {
		upstreams = append(upstreams, upstream{"node-" + how, "127.0.0.1:" + ports[3], how})
	}
	for _, script := range []string{"/index.php", "/app_dev.php"} {
		upstreams = append(upstreams, upstream{"symfony" + strings.ReplaceAll(script, "/", "-"), "127.0.0.1:" + ports[7], script})
	}
	for i, name := range []string{"fastify", "restify", "h3"} {
		upstreams = append(upstreams, upstream{name: name, addr: "127.0.0.1:" + ports[8+i]})
	}
	for i := range upstreams {
		if err := upstreams[i].await(); err != nil {
			return nil, stop, err
		}
	}
	return upstreams, stop, nil
}

func nginxConf(dir, merged, unmerged string) string {
	server := func(port, merge string) string {
		return fmt.Sprintf("server {\nlisten 127.0.0.1:%s;\nmerge_slashes %s;\nlocation / {\nreturn 200 $uri;\n}\n}\n", port, merge)
	}
	return fmt.Sprintf("daemon off;\nmaster_process off;\npid %s/pid;\nevents {\n}\nhttp {\naccess_log off;\n%s%s}\n", dir,
		server(merged, "on"), server(unmerged, "off"))
}

// await waits until u answers.
func (u *upstream) await() (err error) {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		var reading string
		if reading, err = u.read("/a"); err == nil && reading == "/a" {
			return nil
		}
	}
	return fmt.Errorf("%s does not answer: %w", u.name, err)
}

// read returns how u reads a path, "" if u refuses the path.
func (u *upstream) read(path string) (string, error) {
	conn, err := net.Dial("tcp", u.addr)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: a\r\nX-Reader: %s\r\nConnection: close\r\n\r\n", path, u.how); err != nil {
		return "", err
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return "", err
	}
	return string(body), nil
}
