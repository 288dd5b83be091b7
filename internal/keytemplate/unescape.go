package keytemplate

import "strings"

// unescape decodes each %XX in s, and in a query each + as a space. It keeps what cannot be decoded;
// ok is false then. It allocates only if it decodes something.
func unescape(s string, query bool) (decoded string, ok bool) {
	first := strings.IndexByte(s, '%')
	if query {
		if plus := strings.IndexByte(s, '+'); first < 0 || plus >= 0 && plus < first {
			first = plus
		}
	}
	if first < 0 {
		return s, true
	}
	bytes, n := []byte(s), first
	ok = true
	for i := first; i < len(s); n++ {
		c, width := s[i], 1
		if c == '%' || c == '+' && query {
			c, width = decode(s[i:])
			ok = ok && (c != '%' || width > 1)
		}
		bytes[n] = c
		i += width
	}
	return string(bytes[:n]), ok
}

// decode decodes the %XX or + that begins s, and returns how many bytes it has. A % that begins no
// %XX is a %.
func decode(s string) (c byte, n int) {
	if s[0] == '+' {
		return ' ', 1
	}
	if len(s) > 2 {
		if high, low := hexDigits[s[1]], hexDigits[s[2]]; high|low < 16 {
			return high<<4 | low, 3
		}
	}
	return '%', 1
}

// hexDigits has the values of hexadecimal digits, and 16 for other bytes.
var hexDigits = func() (values [256]byte) {
	for c := range values {
		values[c] = 16
	}
	for value, c := range []byte("0123456789ABCDEF") {
		values[c] = byte(value)
	}
	for value, c := range []byte("abcdef") {
		values[c] = byte(10 + value)
	}
	return values
}()
