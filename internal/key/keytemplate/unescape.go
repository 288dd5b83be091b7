package keytemplate

import "strings"

// unescape decodes each %XX in s, and each + as a space if s is in a query. ok is false if a % begins
// no %XX. Servers read such a query differently, so decoded is then empty. Elsewhere, unescape keeps
// such a %. It allocates only if it decodes something.
func unescape(s string, query bool) (decoded string, ok bool) {
	if strings.IndexByte(s, '%') < 0 && !(query && strings.IndexByte(s, '+') >= 0) {
		return s, true
	}
	var b strings.Builder
	from, ok := 0, true
	for i := 0; i < len(s); i++ {
		if s[i] != '%' && (s[i] != '+' || !query) {
			continue
		}
		c, n := decode(s[i:])
		if c == '%' && n == 1 {
			if query {
				return "", false
			}
			ok = false
			continue
		}
		if from == 0 {
			b.Grow(len(s))
		}
		if from < i {
			b.WriteString(s[from:i])
		}
		b.WriteByte(c)
		i += n - 1
		from = i + 1
	}
	if from == 0 {
		return s, ok
	}
	b.WriteString(s[from:])
	return b.String(), ok
}

// decode decodes the %XX or + with which s begins. n is the number of bytes that it has read. A % that
// begins no %XX stands for itself.
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

// hexDigits maps hexadecimal digits to their values, and other bytes to 16.
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
