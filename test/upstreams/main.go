// Command upstreams asks the parsers of real upstreams which names of query parameters and cookies they read
// as the name of a key (`upstreams names`), or which values of parameters, cookies and headers they read as
// the value of a key (`upstreams values`), and prints a table of these. It needs PHP, Ruby with Rack, Node
// with the packages of parsers/package.json, Perl with Mojolicious, Plack and CGI, and Python with the
// packages of parsers/python.py: `make upstreams` installs them, and writes the tables to
// internal/key/keytemplate/testdata. Tests there check that nothing of the tables escapes a key.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run prints a line for each spelling that some parser reads as the key.
func run(w io.Writer, args []string) error {
	var all []spelling
	var what string
	switch strings.Join(args, " ") {
	case "names":
		all, what = sorted(names()), "Names that parsers of upstreams read as a key, of %d that were tried: the kind, the key,\n# the name"
	case "values":
		all, what = sorted(values()), "Values that parsers of upstreams read as another, of %d that were tried: the kind, the value\n# that they read, the value"
	default:
		return errors.New("use `upstreams names` or `upstreams values`")
	}
	readers := make([][]string, len(all)) // the parsers that read each spelling as the key
	dir := filepath.Join("test", "upstreams", "parsers")
	for _, command := range [][]string{
		{"ruby", "rack.rb"}, {"perl", "perl.pl"}, {"/usr/bin/python3", "python.py"}, {"node", "node.mjs"},
	} {
		if err := askProgram(dir, command, all, readers); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(command, " "), err)
		}
	}
	if err := askPHP(dir, all, readers); err != nil {
		return fmt.Errorf("PHP: %w", err)
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "# "+what+" and who reads it. Written by make upstreams.\n", len(all))
	for i, s := range all {
		if len(readers[i]) > 0 {
			fmt.Fprintln(out, s, strings.Join(readers[i], " "))
		}
	}
	return out.Flush()
}

// askProgram asks a program that reads spellings from its input and prints a line for each.
func askProgram(dir string, command []string, all []spelling, readers [][]string) error {
	var input strings.Builder
	for _, s := range all {
		fmt.Fprintf(&input, "%s\t%s\t%x\t%x\n", s.kind, s.key, s.value, s.text)
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Stderr, cmd.Stdin = dir, os.Stderr, strings.NewReader(input.String())
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != len(all) {
		return fmt.Errorf("it answers for %d of %d spellings", len(lines), len(all))
	}
	for i, line := range lines {
		readers[i] = append(readers[i], strings.Fields(line)...)
	}
	return nil
}

// askPHP asks PHP's own server.
func askPHP(dir string, all []spelling, readers [][]string) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	addr := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return err
	}
	cmd := exec.Command("php", "-S", addr, "php.php")
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	for i, s := range all {
		read, err := phpReads(addr, s)
		for deadline := time.Now().Add(10 * time.Second); err != nil && i == 0 && time.Now().Before(deadline); {
			time.Sleep(20 * time.Millisecond) // the server is starting
			read, err = phpReads(addr, s)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
		if read {
			readers[i] = append(readers[i], "PHP")
		}
	}
	return nil
}

// phpReads reports whether PHP reads a spelling as the key.
func phpReads(addr string, s spelling) (bool, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close() }()
	target, field := "/"+url.PathEscape(s.key)+"/"+url.PathEscape(s.value), ""
	switch s.kind {
	case "query":
		target += "?" + s.text
	case "cookie":
		field = "Cookie: " + s.text + "\r\n"
	case "header":
		field = s.key + ": " + s.text + "\r\n"
	}
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n%s\r\n", target, field); err != nil {
		return false, err
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return false, nil // PHP refuses some bytes in requests in this way
	case err != nil:
		return false, err
	}
	defer func() { _ = response.Body.Close() }()
	switch body, err := io.ReadAll(response.Body); {
	case err != nil:
		return false, err
	case string(body) == "1":
		return true, nil
	case string(body) == "0":
		return false, nil
	default:
		return false, errors.New(string(body))
	}
}
