package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"testing"
	"time"
)

// TestDelayLine sends lines to a server that echoes, over a delay line: they come back in order, and none before its time.
func TestDelayLine(t *testing.T) {
	l, err := net.Listen("tcp", host+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		if err == nil {
			_, _ = io.Copy(conn, conn)
			_ = conn.Close()
		}
	}()
	const delay, lines = 3 * time.Millisecond, 100
	d := newDelayLine(delay)
	defer d.close()
	addr, err := d.listen(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	back := bufio.NewScanner(conn)
	begin := time.Now()
	for i := range lines {
		if _, err := fmt.Fprintln(conn, i); err != nil {
			t.Fatal(err)
		}
	}
	for i := range lines {
		if !back.Scan() || back.Text() != fmt.Sprint(i) {
			t.Fatalf("line %d came back as %q, %v", i, back.Text(), back.Err())
		}
		if took := time.Since(begin); took < 2*delay {
			t.Fatalf("line %d came back after %v, want %v at least", i, took, 2*delay)
		}
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if back.Scan() || back.Err() != nil {
		t.Errorf("after the end came %q, %v; want the end", back.Text(), back.Err())
	}
}
