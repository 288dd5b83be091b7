package logs

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/buger/jsonparser"
)

// CaddyFields are the fields of Caddy's access log. Keys are clients' addresses.
var CaddyFields = Fields{Time: "ts", Duration: "duration", Key: "request.client_ip"}

// A jsonFormat reads a JSON object per line.
type jsonFormat struct {
	clock
	fields Fields
	paths  [][]string
	roles  []role    // of paths
	values [4][]byte // by role
}

// A role is what a field is for, as an index.
type role int

const (
	timeRole role = iota
	durationRole
	keyRole
	costRole
)

// NewJSON returns the format of lines that are JSON objects. A list stands for its first element.
func NewJSON(f Fields) Format {
	j := &jsonFormat{fields: f}
	for r, name := range []string{f.Time, f.Duration, f.Key, f.Cost} {
		if name != "" {
			j.paths = append(j.paths, strings.Split(name, "."))
			j.roles = append(j.roles, role(r))
		}
	}
	return j
}

var (
	errNoObject = errors.New("the line is not a JSON object")
	errCut      = errors.New("the line is cut: it does not end with }")
)

// checkObject returns an error unless a line begins and ends as a JSON object does.
func checkObject(line []byte) error {
	switch {
	case len(line) == 0:
		return ErrNoRecord
	case line[0] != '{':
		return errNoObject
	case line[len(line)-1] != '}':
		return errCut
	}
	return nil
}

func (j *jsonFormat) Record(line []byte) (Record, error) {
	if err := checkObject(line); err != nil {
		return Record{}, err
	}
	j.values = [4][]byte{}
	var failed error
	jsonparser.EachKey(line, func(i int, value []byte, kind jsonparser.ValueType, err error) {
		if err == nil && kind == jsonparser.Array {
			value, kind, _, err = jsonparser.Get(value, "[0]")
		}
		switch {
		case err != nil:
			failed = err
		case kind == jsonparser.String || kind == jsonparser.Number || kind == jsonparser.Boolean:
			j.values[j.roles[i]] = value
		}
	}, j.paths...)
	if failed != nil {
		return Record{}, fmt.Errorf("the line is not JSON: %w", failed)
	}
	key, err := unescaped(j.values[keyRole])
	if err != nil {
		return Record{}, err
	}
	return j.fields.newRecord(&j.clock, j.values[timeRole], j.values[durationRole], key, j.values[costRole])
}

// unescaped returns the text of a string in JSON. It allocates only where there is a backslash.
func unescaped(value []byte) ([]byte, error) {
	if bytes.IndexByte(value, '\\') < 0 {
		return value, nil
	}
	text, err := jsonparser.Unescape(value, nil)
	if err != nil {
		return nil, fmt.Errorf("a value is not a JSON string: %w", err)
	}
	return text, nil
}

func (j *jsonFormat) Instants() string { return j.clock.String() }
