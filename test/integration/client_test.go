package integration

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"
)

// A patientTransport repeats a request whose connection has ended before the first byte of a response. On a
// reload, Caddy shuts down its old servers. net/http then drops new connections to them without reading a
// request, and the kernel drops connections that still wait for the old socket. No handler has seen such a
// request, so clients may repeat it.
type patientTransport struct {
	http.Transport
	repeated atomic.Int64 // the number of repeated requests
}

// RoundTrip implements http.RoundTripper.
func (p *patientTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	for attempts := 0; ; attempts++ {
		resp, err := p.Transport.RoundTrip(r)
		if err == nil || attempts == 50 || !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
			return resp, err
		}
		if r.GetBody != nil {
			if r.Body, err = r.GetBody(); err != nil {
				return nil, err
			}
		}
		p.repeated.Add(1)
	}
}

// newClient returns a client that neither follows redirects nor requests compression by itself.
func newClient() *http.Client {
	p := new(patientTransport)
	p.DisableCompression = true
	p.MaxIdleConnsPerHost = 100
	return &http.Client{
		Timeout:       20 * time.Second,
		Transport:     p,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// repeated returns the number of requests that the client had to repeat.
func repeated(client *http.Client) int64 { return client.Transport.(*patientTransport).repeated.Load() }
