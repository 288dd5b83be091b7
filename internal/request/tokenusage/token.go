package tokenusage

// A token is a string or a number, of which only the beginning is kept.
type token struct {
	kind   tokenKind
	length int // length of the whole in bytes
	kept   [longest]byte
}

// longest is how many bytes of a token are kept. A longer token does not matter.
const longest = 32

type tokenKind uint8

const (
	noToken tokenKind = iota
	stringToken
	numberToken
)

// begin begins another token.
func (t *token) begin(kind tokenKind) { t.kind, t.length = kind, 0 }

// add adds to the token.
func (t *token) add(p []byte) {
	if t.length < longest {
		copy(t.kept[t.length:], p)
	}
	t.length += len(p)
}

// text returns the token, nil if it is too long to matter.
func (t *token) text() []byte {
	if t.length > longest {
		return nil
	}
	return t.kept[:t.length]
}
