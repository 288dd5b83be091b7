package integration

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"
)

// A patientTransport repeats requests whose connection ended before the first byte of an answer. At a reload Caddy shuts
// its old servers down, and net/http drops new connections of a server in shutdown without reading a request, as the
// kernel does with those that still wait for the old socket. No handler has seen such a request, and clients may repeat it.
type patientTransport struct {
	http.Transport
	repeated atomic.Int64 // how many requests were repeated
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

// newClient returns a client that follows no redirect and asks for no compression by itself.
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

// repeated returns how many requests the client had to repeat.
func repeated(client *http.Client) int64 { return client.Transport.(*patientTransport).repeated.Load() }
