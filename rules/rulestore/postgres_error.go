package rulestore

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fleetlimit/fleetlimit/rules"
)

// connectTimeout is how long one attempt to connect may take, unless the URL has connect_timeout.
const connectTimeout = 5 * time.Second

const urlForm = "use postgres://<user>:<password>@<host>:5432/<database>, " +
	"with special characters of the password as in %2F for /"

// maxMessage is the most bytes of one message of PostgreSQL, such as a row.
const maxMessage = 16 << 20

// parseURL parses a URL. Its errors have no part of the URL that may belong to the password.
func parseURL(text string) (*pgxpool.Config, error) {
	_, rest, _ := strings.Cut(text, "://")
	if !strings.HasPrefix(text, "postgres://") && !strings.HasPrefix(text, "postgresql://") {
		return nil, errors.New("the URL of PostgreSQL does not begin with postgres://: " + urlForm)
	}
	config, err := pgxpool.ParseConfig(text)
	if err != nil {
		problem := err.Error()
		problem = problem[strings.LastIndex(problem, "`: ")+len("`: "):] // after the URL in backquotes
		if mentions(problem, rest[:strings.LastIndex(rest, "@")+1]) {
			return nil, errors.New("the URL of PostgreSQL cannot be parsed: " + urlForm)
		}
		return nil, fmt.Errorf("the URL of PostgreSQL is wrong: %s: %s", problem, urlForm)
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	config.ConnConfig.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		f := pgproto3.NewFrontend(r, w)
		f.SetMaxBodyLen(maxMessage)
		return f
	}
	// By these probes, a connection that only listens notices a server that has vanished.
	dialer := &net.Dialer{KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 3,
	}}
	config.ConnConfig.DialFunc = dialer.DialContext
	return config, nil
}

// mentions reports whether a text contains one of the words.
func mentions(text, words string) bool {
	const shortest = 3
	all := strings.FieldsFunc(words, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) })
	return slices.ContainsFunc(all, func(word string) bool { return len(word) >= shortest && strings.Contains(text, word) })
}

// The codes of the errors of PostgreSQL that this package handles.
const (
	undefinedTable   = "42P01"
	deadlockDetected = "40P01"
)

func hasCode(err error, code string) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && refused.Code == code
}

// remedies are what to do about errors, by their codes.
var remedies = map[string]string{
	"22021": "use key_base64 for a key with a NUL character, and none in other texts",
	"22P05": "use key_base64 for a key with a NUL character, and none in other texts",
	"25006": "this server is a standby: use the URL of the primary, or all hosts and target_session_attrs=read-write",
	"28000": "use a line for this user, database and address in pg_hba.conf of the server",
	"28P01": "use the user's password in the URL, with special characters as in %2F for /",
	"3D000": "use createdb to create it, or another database in the URL",
	"42501": "use GRANT for the user of the URL, as docs/operate/postgres.md says",
	"42704": "use only parameters in the URL that PostgreSQL knows",
	"53300": "use a greater max_connections: each node needs up to 6",
	"55P03": "a transaction has changed rules in SQL and has not ended: use COMMIT or ROLLBACK there; " +
		"pg_stat_activity shows it",
}

// explain adds what to do about an error. Errors of this package and of the context stay as they
// are.
func explain(err error) error {
	if err == nil || errors.Is(err, rules.ErrConflict) || errors.Is(err, rules.ErrNotFound) ||
		errors.Is(err, context.Canceled) {
		return err
	}
	var (
		refused *pgconn.PgError
		remedy  string
	)
	if errors.As(err, &refused) {
		remedy = remedies[refused.Code]
		if remedy == "" && strings.HasPrefix(refused.Code, "57P") { // the server shuts down or starts
			remedy = "use a PostgreSQL that runs"
		}
	}
	var (
		authority   x509.UnknownAuthorityError
		certificate *tls.CertificateVerificationError
	)
	switch {
	case remedy != "":
	case errors.As(err, &authority):
		remedy = "use sslrootcert=<file> in the URL for the certificate of the server's authority"
	case errors.As(err, &certificate):
		remedy = "use the name of the server's certificate as the host in the URL"
	case strings.Contains(err.Error(), "server refused TLS connection"):
		remedy = "use ssl = on at the server, or sslmode=disable in the URL where nobody can listen"
	case errors.Is(err, syscall.ECONNREFUSED), isNoHost(err):
		remedy = "use a PostgreSQL that runs, with its host and port in the URL"
	}
	if remedy == "" {
		return fmt.Errorf("PostgreSQL: %w", err)
	}
	return fmt.Errorf("PostgreSQL: %w: %s", err, remedy)
}

func isNoHost(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns)
}
