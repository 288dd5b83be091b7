package rulestore_test

import (
	"io"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/fleetlimit/fleetlimit/rules"
	"github.com/fleetlimit/fleetlimit/rules/rulestore"
	"github.com/fleetlimit/fleetlimit/rules/rulestoretest"
	"github.com/fleetlimit/fleetlimit/test/pgtest"
	"github.com/fleetlimit/fleetlimit/test/redistest"
)

// secret is in the URLs. It must not be in errors.
const secret = "hunter2"

func TestPostgresURL(t *testing.T) {
	t.Parallel()
	for text, problem := range map[string]string{
		"postgres://u:" + secret + "/3@host/db":  "invalid port",
		"postgres://u:" + secret + "%zz@host/db": "invalid percent-encoded",
		"redis://u:" + secret + "@host":          "does not begin with postgres://",
		"host=localhost password=" + secret:      "does not begin with postgres://",
		"":                                       "does not begin with postgres://",
		"postgres://u:" + secret + "@host/db?sslmode=maybe":                "sslmode is invalid",
		"postgres://u:" + secret + "@host/db?sslrootcert=/" + secret + "/": "cannot be parsed",
		"postgres://u:" + secret + "@host/db?sslrootcert=/none":            "unable to read CA file",
		"postgres://u:" + secret + "@host/db?connect_timeout=soon":         "connect_timeout",
		"postgres://u:" + secret + "@host/db?pool_max_conns=0":             "pool_max_conns",
	} {
		store, err := rulestore.OpenPostgres(text)
		if err == nil {
			t.Errorf("%s is accepted", text)
			_ = store.Close()
			continue
		}
		if !strings.Contains(err.Error(), problem) || strings.Contains(err.Error(), secret) || !strings.Contains(err.Error(), "use ") {
			t.Errorf("%s: error = %v, want %s, a remedy and no secret", text, err, problem)
		}
	}
}

func TestPostgresURLThatIsRight(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"postgres://u:" + secret + "@a:5432,b:5433/db?target_session_attrs=read-write",
		"postgresql://u@[::1]:5432/db?sslmode=disable&search_path=rules&pool_max_conns=2&connect_timeout=1",
		"postgres:///db?host=/var/run/postgresql",
		"postgres://%2Fvar%2Frun%2Fpostgresql/db",
		"postgres://u:a%2Fb%23c%25@host",
		"postgres://u:#" + secret + "@host/db",
	} {
		store, err := rulestore.OpenPostgres(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		_ = store.Close()
	}
}

// TestPostgresErrors has servers that refuse.
func TestPostgresErrors(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	server.Exec(t, "postgres", "CREATE USER needs_password PASSWORD 'right'; CREATE USER is_refused; CREATE USER bob")
	server.Exec(t, "postgres", "CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1'")
	private, readOnly := server.Database(t), server.Database(t)
	server.Exec(t, private, "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
	server.Exec(t, "postgres", "ALTER DATABASE "+readOnly+" SET default_transaction_read_only = on")
	for name, test := range map[string]struct{ address, user, database, query, problem string }{
		"password":    {server.Addr, "needs_password", "postgres", "", "use the user's password"},
		"pg_hba":      {server.Addr, "is_refused", "postgres", "", "pg_hba.conf of the server"},
		"no database": {server.Addr, "postgres", "none", "", "use createdb"},
		"no right":    {server.Addr, "bob", private, "", "use GRANT"},
		"encoding":    {server.Addr, "postgres", "latin", "", "use one with UTF8"},
		"standby":     {server.Addr, "postgres", readOnly, "", "use the URL of the primary"},
		"no schema":   {server.Addr, "postgres", private, "search_path=none", "use CREATE SCHEMA"},
		"parameter":   {server.Addr, "postgres", "postgres", "nonsense=1", "use only parameters"},
		"authority":   {server.Addr, "postgres", "postgres", "sslmode=verify-full", "use sslrootcert="},
		"certificate": {
			strings.Replace(server.Addr, "127.0.0.1", "localhost", 1), "postgres", "postgres",
			"sslmode=verify-full&sslrootcert=" + server.Authority, "use the name of the server's certificate",
		},
		"no TLS":       {serverWithoutTLS(t), "postgres", "postgres", "sslmode=require", "use ssl = on"},
		"nobody":       {redistest.FreeAddr(), "postgres", "postgres", "", "use a PostgreSQL that runs"},
		"no such host": {"none.invalid", "postgres", "postgres", "", "use a PostgreSQL that runs"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := url.URL{
				Scheme: "postgres", User: url.UserPassword(test.user, secret), Host: test.address, Path: test.database,
				RawQuery: test.query,
			}
			store := openPostgres(t, u.String())
			_, err := store.Latest(t.Context())
			if err == nil || !strings.Contains(err.Error(), test.problem) || strings.Contains(err.Error(), secret) {
				t.Errorf("Latest: error = %v, want %s and no secret", err, test.problem)
			}
			if err := store.Watch(t.Context(), func() {}); err == nil {
				t.Error("Watch = nil, want an error")
			}
		})
	}
	store := openPostgres(t, "postgres://needs_password:right@"+server.Addr+"/"+server.Database(t)+
		"?sslmode=verify-full&sslrootcert="+server.Authority)
	if _, err := store.Latest(t.Context()); err == nil || !strings.Contains(err.Error(), "use GRANT") {
		t.Errorf("with the right password: %v, want that only a right is missing", err)
	}
}

// serverWithoutTLS returns the address of a server that answers as PostgreSQL does without TLS.
func serverWithoutTLS(t *testing.T) string {
	t.Helper()
	return serve(t, "127.0.0.1:0", func(conn net.Conn) {
		if _, err := io.ReadFull(conn, make([]byte, 8)); err == nil {
			_, _ = conn.Write([]byte("N"))
		}
	})
}

// serve calls handle for each connection to an address, until the test ends. It returns the
// address.
func serve(t *testing.T, address string, handle func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				handle(conn)
			}()
		}
	}()
	return listener.Addr().String()
}

// forward forwards connections from an address to another one, until the test ends.
func forward(t *testing.T, address, other string) {
	t.Helper()
	serve(t, address, func(conn net.Conn) {
		to, err := net.Dial("tcp", other)
		if err != nil {
			return
		}
		go func() {
			defer to.Close()
			_, _ = io.Copy(to, conn)
		}()
		_, _ = io.Copy(conn, to)
	})
}

// TestPostgresDownAtStart starts a node before its server.
func TestPostgresDownAtStart(t *testing.T) {
	t.Parallel()
	server, address := pgtest.Shared(t), redistest.FreeAddr()
	text := strings.Replace(server.URL(server.Database(t)), server.Addr, address, 1)
	failed := make(chan error, 1)
	w := rules.NewWatcher(openPostgres(t, text), rules.Options{
		Poll: 20 * time.Millisecond, OnUnread: func(err error) { failed <- err },
	})
	t.Cleanup(func() { _ = w.Close() })
	if err := <-failed; !strings.Contains(err.Error(), "use a PostgreSQL that runs") {
		t.Errorf("the reported error = %v, want that PostgreSQL does not run", err)
	}
	if v := w.Latest(); v.Number != 0 || v.Document == nil {
		t.Errorf("the version in force = %+v, want none", v)
	}
	forward(t, address, server.Addr)
	<-w.Loaded()
	if _, err := w.Update(t.Context(), rules.Change{Author: "me"}); err != nil {
		t.Errorf("Update after the start = %v", err)
	}
}

// TestPostgresTexts writes texts that PostgreSQL cannot keep.
func TestPostgresTexts(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	store := openPostgres(t, server.URL(server.Database(t)))
	override, note := rulestoretest.Version(1), rulestoretest.Version(1)
	override.Document.Overrides[0].Text = "a\x00b"
	note.Note = "a\x00b"
	for name, v := range map[string]*rules.Version{"override": override, "note": note} {
		if err := store.Write(t.Context(), v, 0); err == nil || !strings.Contains(err.Error(), "NUL character") {
			t.Errorf("writing an %s with a NUL character = %v, want an error that says so", name, err)
		}
	}
	write(t, store, rulestoretest.Version(1))
}
