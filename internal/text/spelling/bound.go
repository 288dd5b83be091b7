package spelling

import "strings"

const (
	maxErrorLen = 4096 // in bytes
	endsOfError = 1500 // bytes of a longer text that are kept at each end; the last ones have the remedy and the place
)

// Bound returns err with a text of at most maxErrorLen bytes, however long a text err quotes.
func Bound(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if len(text) <= maxErrorLen {
		return err
	}
	return &boundError{err, strings.ToValidUTF8(text[:endsOfError], "") + " [...] " +
		strings.ToValidUTF8(text[len(text)-endsOfError:], "")}
}

// A boundError is an error with a shorter text.
type boundError struct {
	err  error
	text string
}

// Error implements error.
func (e *boundError) Error() string { return e.text }

// Unwrap returns the error with its whole text.
func (e *boundError) Unwrap() error { return e.err }
