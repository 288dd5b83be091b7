package config

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/fleetlimit/fleetlimit/internal/caddyread/subdirective"
)

// A Size is a number of bytes. In JSON it may be a text with a unit, such as "256MB".
type Size uint64

// sizeUnits are the units of a size. As in Caddy, kB is 1000 bytes and KiB is 1024.
var sizeUnits = []struct {
	name  string
	bytes float64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}}

// leastSize is the least memory of a zone. It has room for some thousand keys.
const leastSize = 1e6

// parseSize parses a size.
func parseSize(text string) (Size, error) {
	for _, unit := range sizeUnits {
		number, found := strings.CutSuffix(text, unit.name)
		if !found {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if bytes := n * unit.bytes; err == nil && bytes >= leastSize && bytes <= math.MaxInt32*1e3 {
			return Size(bytes), nil
		}
	}
	return 0, fmt.Errorf("max_memory is %q: use a size with its unit, 1MB or more, such as 256MB", text)
}

// UnmarshalJSON accepts a number of bytes, or a text with a unit.
func (s *Size) UnmarshalJSON(data []byte) (err error) {
	if isText(data) {
		*s, err = parseSize(textOf(data))
		return err
	}
	if err = json.Unmarshal(data, (*uint64)(s)); err != nil || *s != 0 && *s < leastSize {
		return fmt.Errorf("max_memory is %s: use a size such as \"256MB\", or a number of bytes, 1000000 or more", data)
	}
	return nil
}

// String returns s in the largest unit that is not larger than s.
func (s Size) String() string {
	for _, unit := range []string{"GB", "MB", "kB"} {
		for _, u := range sizeUnits {
			if n := float64(s) / u.bytes; u.name == unit && n >= 1 {
				return strconv.FormatFloat(n, 'g', 3, 64) + unit
			}
		}
	}
	return fmt.Sprintf("%dB", uint64(s))
}

func sizeLine(name string, size *Size) subdirective.Line {
	return subdirective.Value(name+" <size>", 1, 1, size, func(args []string) (Size, error) { return parseSize(args[0]) })
}
