package config

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// A Fraction is a part of a whole, 0 to 1. In JSON it may be a percentage, such as "1%".
type Fraction float64

// UnmarshalJSON accepts a number, or a percentage as a text.
func (f *Fraction) UnmarshalJSON(data []byte) (err error) {
	fraction := (*float64)(f)
	if isText(data) {
		*fraction, err = parsePercent(textOf(data))
	} else {
		err = json.Unmarshal(data, fraction)
	}
	if err != nil {
		return fmt.Errorf(`%s is not a percentage: use "0%%" to "100%%", or a fraction from 0 to 1 without quotes`, data)
	}
	return nil
}

// parsePercent parses a percentage from 0% to 100% as a fraction. It rounds once: 0.7% is equal to
// 0.007.
func parsePercent(s string) (float64, error) {
	number, percent := strings.CutSuffix(s, "%")
	f, err := strconv.ParseFloat(number+"e-2", 64)
	if !percent || err != nil || strings.Trim(number, "0123456789.") != "" || f > 1 {
		return 0, fmt.Errorf("%q is not a percentage", s)
	}
	return f, nil
}

// percentLike returns the percentage that a text without % probably means, or other if it can mean
// none.
func percentLike(text, other string) string {
	f, err := strconv.ParseFloat(text, 64)
	if err == nil && strings.Contains(text, ".") && f <= 1 {
		f *= 100 // a fraction
	}
	if err != nil || !(f > 0 && f <= 100) {
		return other
	}
	return strconv.FormatFloat(f, 'g', 4, 64) + "%"
}

// FormatPercent returns a fraction as a percentage.
func FormatPercent(fraction float64) string {
	return strconv.FormatFloat(fraction*100, 'g', 10, 64) + "%"
}

// ParseShareOfKeys parses a percentage of keys.
func ParseShareOfKeys(text string) (float64, error) {
	share, err := parsePercent(text)
	if err != nil {
		return 0, fmt.Errorf("%w of keys: use %s", err, percentLike(text, "0% to 100%, such as 10%"))
	}
	return share, nil
}
