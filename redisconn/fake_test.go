package redisconn

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// hangUp, as a reply, makes a fake close the connection instead of replying.
const hangUp = "hang up"

// A fake is a server that sends the replies of a test, for replies that a real server cannot be made to
// send.
type fake struct {
	addr  string
	reply func(command []string) string // in RESP; called for one command at a time

	mu      sync.Mutex
	seen    [][]string
	conns   []net.Conn        // connections whose login is over
	hostile map[string]string // replies to commands by their names, used instead of reply; a hangUp is used once
}

// newFake starts a fake. It answers the commands of a login by itself: HELLO as an old server that
// does not know it, and INFO with its address as the run_id.
func newFake(t testing.TB, config *tls.Config, reply func(command []string) string) *fake {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{addr: listener.Addr().String(), reply: reply}
	if config != nil {
		listener = tls.NewListener(listener, config)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go f.serve(conn)
		}
	}()
	return f
}

func (f *fake) serve(conn net.Conn) {
	defer conn.Close()
	loggedIn := false
	for r := bufio.NewReader(conn); ; {
		command, err := readCommand(r)
		if err != nil {
			return
		}
		if !loggedIn && (command[0] == "ping" || strings.HasPrefix(command[0], "eval")) {
			loggedIn = true
			f.mu.Lock()
			f.conns = append(f.conns, conn)
			f.mu.Unlock()
		}
		if reply := f.answer(command); reply == hangUp {
			return
		} else if _, err := io.WriteString(conn, reply); err != nil {
			return
		}
	}
}

// closeAll closes the connections that were sent a script or a PING. Others may be in their login: a
// server that closes those cannot be used.
func (f *fake) closeAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, conn := range f.conns {
		_ = conn.Close()
	}
	f.conns = nil
}

// sent returns how often f was sent a command that begins with word.
func (f *fake) sent(word string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, command := range f.seen {
		if command[0] == word {
			n++
		}
	}
	return n
}

// answerTo has f answer the commands that begin with word with reply. If reply is empty, f answers them
// as before.
func (f *fake) answerTo(word, reply string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hostile == nil {
		f.hostile = make(map[string]string)
	}
	if f.hostile[word] = reply; reply == "" {
		delete(f.hostile, word)
	}
}

func (f *fake) answer(command []string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = append(f.seen, command)
	if reply, ok := f.hostile[command[0]]; ok {
		if reply == hangUp {
			delete(f.hostile, command[0])
		}
		return reply
	}
	switch command[0] {
	case "hello":
		return "-ERR unknown command\r\n"
	case "ping":
		return "+PONG\r\n"
	case "info":
		return bulk("run_id:" + f.addr + "\r\n")
	case "select", "auth", "asking", "script":
		return "+OK\r\n"
	}
	return f.reply(command)
}

// newClusterFake starts a fake that is the only node of a cluster and owns all slots.
func newClusterFake(t testing.TB, reply func(command []string) string) *fake {
	t.Helper()
	f := newFake(t, nil, nil)
	node := clusterNode(1, 1, f.addr)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reply = func(command []string) string {
		if command[0] == "cluster" {
			return node(command)
		}
		return reply(command)
	}
	return f
}

// commands returns the names of the commands that were seen, except those of the login, the topology
// and SCRIPT LOAD.
func (f *fake) commands() (names []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, command := range f.seen {
		switch name := command[0]; name {
		case "hello", "ping", "info", "cluster", "script":
		default:
			names = append(names, name)
		}
	}
	return names
}

// readCommand reads one command: an array of strings.
func readCommand(r *bufio.Reader) ([]string, error) {
	n, err := readLength(r, '*')
	if err != nil {
		return nil, err
	}
	command := make([]string, n)
	for i := range command {
		size, err := readLength(r, '$')
		if err != nil {
			return nil, err
		}
		buf := make([]byte, size+len("\r\n"))
		if _, err := io.ReadFull(r, buf); err != nil {
			return nil, err
		}
		command[i] = string(buf[:size])
	}
	return command, nil
}

func readLength(r *bufio.Reader, kind byte) (int, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return 0, err
	}
	if line[0] != kind {
		return 0, fmt.Errorf("the line %q, want one that begins with %q", line, kind)
	}
	return strconv.Atoi(strings.TrimSpace(line[1:]))
}

// bulk and array encode replies.
func bulk(s string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(s), s) }

func array(items ...string) string {
	return fmt.Sprintf("*%d\r\n%s", len(items), strings.Join(items, ""))
}
