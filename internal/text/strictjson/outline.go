package strictjson

import (
	"encoding/json"
	"errors"
	"fmt"
)

// CheckBounds returns an error unless data is JSON within the bounds of [Decode]. It allocates nothing,
// so callers can check data of others before they decode it, which may take much more memory.
func CheckBounds(data []byte) error {
	if !json.Valid(data) {
		return errors.New("it is not JSON")
	}
	if _, ok := outline(data); !ok {
		return fmt.Errorf("values are nested in more than %d others, or have more than %d elements", maxDepth, MaxElements)
	}
	return nil
}

// outline returns the number of members in all objects of data. A name that occurs twice counts twice.
// ok is false if values are nested too deep, or have too many elements. data must be valid JSON.
func outline(data []byte) (members int, ok bool) {
	var commas [maxDepth + 1]int // in the values that are open, by depth
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			for i++; data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			if depth++; depth > maxDepth {
				return 0, false
			}
			commas[depth] = 0
		case '}', ']':
			depth--
		case ',':
			if commas[depth]++; commas[depth] >= MaxElements {
				return 0, false
			}
		case ':':
			members++
		}
	}
	return members, true
}

// membersIn returns the number of members in all objects of value.
func membersIn(value any) (n int) {
	switch value := value.(type) {
	case map[string]any:
		n = len(value)
		for _, v := range value {
			n += membersIn(v)
		}
	case []any:
		for _, v := range value {
			n += membersIn(v)
		}
	}
	return n
}
