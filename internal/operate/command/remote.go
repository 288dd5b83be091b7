package command

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// remoteFlags adds the flags for Caddy's remote admin endpoint.
func remoteFlags(f *pflag.FlagSet) {
	f.String("client-cert", "", "File with a client certificate in PEM: --address is then Caddy's remote admin endpoint")
	f.String("client-key", "", "File with the key of the client certificate in PEM")
	f.String("ca", "", "File with the authority of the remote admin endpoint in PEM; default: those of the system")
}

// isRemote reports whether the flags are for the remote admin endpoint.
func isRemote(f *pflag.FlagSet) bool {
	return f.Changed("client-cert") || f.Changed("client-key") || f.Changed("ca")
}

// openRemote sends the request as open does, to the remote admin endpoint at an address.
func (r *apiRequest) openRemote(cmd *cobra.Command, address, uri string, content io.Reader) (*http.Response, error) {
	config, err := remoteTLS(cmd.Flags())
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(cmd.Context(), r.method, "https://"+address+uri, content)
	if err != nil {
		return nil, fmt.Errorf("%w: use --address with a host and a port", err)
	}
	if content != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for name, values := range r.header {
		request.Header[name] = values
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	resp, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("there is no answer from %s: %s: use --address for the remote admin endpoint of a Caddy that "+
			"runs, and certificates that it accepts", address, printable(err.Error()))
	}
	if resp.StatusCode < http.StatusBadRequest {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the answer of the admin endpoint: %w: use the command again", err)
	}
	return nil, refusal(address, resp.Status, body)
}

// remoteTLS returns the certificates that the flags name.
func remoteTLS(f *pflag.FlagSet) (*tls.Config, error) {
	certificateFile, _ := f.GetString("client-cert")
	keyFile, _ := f.GetString("client-key")
	if !f.Changed("address") || certificateFile == "" || keyFile == "" {
		return nil, errors.New("the remote admin endpoint needs an address and a client certificate: use --address, " +
			"--client-cert and --client-key")
	}
	certificate, err := tls.LoadX509KeyPair(certificateFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("reading the client certificate: %w: use --client-cert and --client-key with files in PEM", err)
	}
	config := &tls.Config{
		MinVersion: tls.VersionTLS12,
		// The client sends the certificate even if the server does not name its authority.
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &certificate, nil },
	}
	if authorities, _ := f.GetString("ca"); authorities != "" {
		text, err := os.ReadFile(authorities)
		if err != nil {
			return nil, fmt.Errorf("reading the authority: %w: use --ca with a file in PEM", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("reading the authority: %s has no certificate: use --ca with a file in PEM", authorities)
		}
	}
	return config, nil
}
