package keytemplate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fleetlimit/fleetlimit/internal/caddyread/placeholder"
)

// Check returns an error if the template does not count what its text suggests: if it has a text that
// is meant as a placeholder, a placeholder that does not exist, or a placeholder whose value changes
// with each request or connection.
func (t *Template) Check() error {
	if err := t.checkTexts(); err != nil {
		return err
	}
	for _, name := range t.names {
		if err := placeholder.Check(name); err != nil {
			return err
		}
		switch placeholder.FrequencyOf(name) {
		case placeholder.PerConnection:
			return fmt.Errorf("{%s} is new on each connection, so a client gets a new count with each: use {client_ip} or "+
				"{remote_host}", name)
		case placeholder.PerRequest:
			return fmt.Errorf("{%s} is new on each request, so no request would ever be limited: use a value that a "+
				"client keeps, such as {client_ip} or {http.request.header.X-Api-Key}", name)
		}
	}
	return nil
}

// Warning returns an error if the template is probably a mistake.
func (t *Template) Warning() error {
	if len(t.names) == 0 && slices.ContainsFunc(t.parts, func(p part) bool { return p.global }) {
		return fmt.Errorf("%s is the same for all requests, which share one count: use `static` if that is meant, or a "+
			"placeholder such as {client_ip}", t.raw)
	}
	if err := t.warningTexts(); err != nil {
		return err
	}
	for _, name := range t.names {
		if placeholder.ChosenPerRequest(name) {
			return fmt.Errorf("{%s} has a new value whenever a client likes, and with it a new count: use a value that a "+
				"client keeps, such as {client_ip}, {path} or {query.<name>}", name)
		}
		if placeholder.NamesRequest(name) {
			return fmt.Errorf("{%s} usually has a new value on each request, and then no request is ever limited: use a "+
				"value that a client keeps, such as {client_ip}", name)
		}
		if isAddressHeader(name) || strings.EqualFold(name, headerPrefix+"Forwarded") {
			return fmt.Errorf("{%s} is what the client has sent, unless a proxy replaces it, and with each value of it a "+
				"client gets a new count: use {client_ip}, and trusted_proxies in the global option `servers` for your proxies", name)
		}
		if field, ok := strings.CutPrefix(name, headerPrefix); ok && strings.ContainsAny(field, "_.") {
			return fmt.Errorf("{%s} is usually missing, because Caddy removes headers with underscores or dots: use a "+
				"hyphen, or `expected_underscore_headers` or `expected_dot_headers` in the global option `servers`", name)
		}
	}
	return nil
}

// warningTexts returns an error if a text between or around the placeholders is probably a mistake.
func (t *Template) warningTexts() error {
	for i, p := range t.parts {
		switch {
		case p.global || p.text == "" || len(t.names) == 0:
		case i > 0 && i < len(t.parts)-1 && slices.Contains([]string{"||", "??", "or"}, strings.TrimSpace(p.text)):
			return fmt.Errorf("%q between placeholders is text, not an alternative: use one of them, and `on_missing_key` "+
				"for requests that do not have it", p.text)
		case (i == 0 || i == len(t.parts)-1) && strings.Trim(p.text, "$^%;'\"“”‘’") == "":
			return fmt.Errorf("%q around a placeholder is text, the same in all keys: use the placeholder without it", p.text)
		}
	}
	return nil
}

// checkTexts checks the texts between the placeholders.
func (t *Template) checkTexts() error {
	if len(t.names) > 0 {
		for i, p := range t.parts {
			if bits := prefixBits(p.text); bits != "" && !p.global && i > 0 && isAddress(t.parts[i-1].name) {
				return fmt.Errorf("%q after an address is text, the same in all keys: use ipv4_prefix %s or ipv6_prefix %s",
					"/"+bits, bits, bits)
			}
			for _, word := range strings.FieldsFunc(p.text, func(c rune) bool { return strings.ContainsRune(" :,;|/+&", c) }) {
				if !p.global && hasPrefix(word, "http.request.", "http.vars.", "http.auth.") {
					return fmt.Errorf("%q is text, the same in all keys: use {%s}", word, word)
				}
			}
		}
		return nil
	}
	for _, p := range t.parts {
		switch {
		case p.global && strings.ContainsAny(p.text, "{}"):
			return fmt.Errorf("%s expands to %q, and placeholders in that are not expanded, so all requests would share "+
				"one count: use {$NAME} in a Caddyfile, which is expanded before it is read", t.raw, p.text)
		case p.global:
			return nil // the environment chooses one count for all requests
		}
	}
	return placeholder.CheckText(t.raw)
}

// prefixBits returns the digits in a text that begins with a slash and digits. It returns "" for other
// texts.
func prefixBits(text string) string {
	rest, ok := strings.CutPrefix(text, "/")
	if !ok {
		return ""
	}
	return rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
}
