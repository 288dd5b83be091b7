package replay

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/sim/logs"
)

// A request is the request of a line. Its fields are filled in anew for each line. The int fields
// are the places of fields in the row, or -1 if nothing reads the field.
type request struct {
	http *http.Request
	repl *caddy.Replacer
	vars map[string]any

	method, uri, host, proto, remoteIP, clientIP, serverName, tls, status int

	headers  []placed // headers of the request
	provided []placed // placeholders whose values are in other fields of the row
	said     said
}

// A placed is a header or a placeholder, and the place in the row that has its value.
type placed struct {
	name  string
	place int
}

func (m *request) init() {
	for _, place := range []*int{&m.method, &m.uri, &m.host, &m.proto, &m.remoteIP, &m.clientIP, &m.serverName, &m.tls, &m.status} {
		*place = -1
	}
	r := &http.Request{URL: new(url.URL), Header: make(http.Header), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	m.repl = caddy.NewReplacer()
	m.http = caddyhttp.PrepareRequest(r, m.repl, nil, new(caddyhttp.Server))
	m.vars, _ = m.http.Context().Value(caddyhttp.VarsCtxKey).(map[string]any)
}

// text returns the first value of a field, or "" if there is none.
func text(row *logs.Row, place int) string {
	if place < 0 {
		return ""
	}
	return string(row.First(place))
}

// make makes the request of a row.
func (m *request) make(row *logs.Row) error {
	r := m.http
	r.Method, r.Host, r.TLS = text(row, m.method), text(row, m.host), nil
	if r.Method == "" {
		r.Method = http.MethodGet
	}
	if m.uri >= 0 {
		r.RequestURI = text(row, m.uri)
		u, err := url.ParseRequestURI(r.RequestURI)
		if err != nil {
			return fmt.Errorf("request.uri: %w", err)
		}
		*r.URL = *u
	}
	if m.proto >= 0 {
		if proto := text(row, m.proto); proto != "" {
			r.Proto = proto
			r.ProtoMajor, r.ProtoMinor, _ = http.ParseHTTPVersion(proto)
		}
	}
	r.RemoteAddr = ""
	if address := text(row, m.remoteIP); address != "" {
		r.RemoteAddr = net.JoinHostPort(address, "0")
	}
	m.vars[caddyhttp.ClientIPVarKey] = text(row, m.clientIP)
	if name := text(row, m.serverName); name != "" || text(row, m.tls) != "" {
		r.TLS = &tls.ConnectionState{ServerName: name, HandshakeComplete: true}
	}
	if err := m.setHeaders(row); err != nil {
		return err
	}
	m.provide(row)
	return nil
}

// setHeaders sets the headers that the zone reads.
func (m *request) setHeaders(row *logs.Row) error {
	for _, h := range m.headers {
		values := m.http.Header[h.name][:0]
		for _, value := range row.All(h.place) {
			if string(value) == "REDACTED" {
				return &logs.StopError{Err: fmt.Errorf("the log has %s as REDACTED: use log_credentials in the global option servers "+
					"before logs are written, or --recorded if the gateway has written key_hash", h.name)}
			}
			values = append(values, string(value))
		}
		if len(values) == 0 {
			delete(m.http.Header, h.name)
		} else {
			m.http.Header[h.name] = values
		}
	}
	return nil
}

// provide sets the placeholders whose values are in other fields of the row.
func (m *request) provide(row *logs.Row) {
	for _, p := range m.provided {
		value := text(row, p.place)
		variable, isVariable := strings.CutPrefix(p.name, "http.vars.")
		field, isHeader := strings.CutPrefix(p.name, "http.request.header.")
		switch {
		case isVariable:
			m.vars[variable] = value
		case isHeader:
			m.http.Header.Set(field, value)
			if value == "" {
				m.http.Header.Del(field)
			}
		default:
			m.repl.Set(p.name, value)
		}
	}
}

// statusOf returns the status of the response, or 0 if the line has none.
func (m *request) statusOf(row *logs.Row) int {
	n, _ := strconv.Atoi(text(row, m.status))
	return n
}
