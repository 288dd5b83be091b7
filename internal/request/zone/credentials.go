package zone

import (
	"net/textproto"
	"slices"
	"strings"
)

// A credential is a value that a zone reads and that authentication may set: a request header, or
// one of {http.auth.*}.
type credential struct {
	Placeholder string // without braces
	header      string // its field; "" for {http.auth.*}
}

// newCredentials returns those that a zone reads by these placeholders, each once.
func newCredentials(placeholders []string) (all []credential) {
	for _, name := range placeholders {
		field, isHeader := strings.CutPrefix(name, "http.request.header.")
		if !isHeader && !strings.HasPrefix(name, "http.auth.") {
			continue
		}
		c := credential{Placeholder: name}
		if isHeader {
			c.header = textproto.CanonicalMIMEHeaderKey(field)
		}
		if !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	return all
}

// valueIn returns the value in a request, "" if there is none. Of a repeated header it is the first.
func (c *credential) valueIn(r *Request) string {
	if c.header == "" {
		text, _ := r.Repl.GetString(c.Placeholder)
		return text
	}
	if values := r.HTTP.Header[c.header]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// WatchCredentials makes z notice that it was decided before authentication. A change of one of the
// replaced headers says nothing about who the client is: the gateway may put a credential of its own
// in place of the client's.
func (z *Zone) WatchCredentials(replaced map[string]bool) {
	watched := slices.DeleteFunc(newCredentials(z.Placeholders()), func(c credential) bool { return replaced[c.header] })
	z.watched.Store(&watched)
}

// A CredentialRead is a credential as it was when its zone was decided.
type CredentialRead struct {
	*Zone
	*credential
	text string
}

// AppendCredentials appends the credentials of z in a request.
func (z *Zone) AppendCredentials(all []CredentialRead, r *Request) []CredentialRead {
	if watched := z.watched.Load(); watched != nil {
		for i := range *watched {
			c := &(*watched)[i]
			all = append(all, CredentialRead{z, c, c.valueIn(r)})
		}
	}
	return all
}

// Changed reports whether later handlers have set the credential. One that is gone proves nothing:
// sites remove keys before they proxy a request.
func (c *CredentialRead) Changed(r *Request) bool {
	now := c.valueIn(r)
	return now != "" && now != c.text
}
