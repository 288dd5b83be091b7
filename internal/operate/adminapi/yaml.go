package adminapi

import (
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/fleetlimit/fleetlimit/internal/text/strictjson"
)

// DecodeYAML returns the YAML document in data as [strictjson.Decode] returns JSON.
func DecodeYAML(data []byte) (any, error) {
	var value any
	if err := yaml.Unmarshal(data, &value); err != nil {
		return nil, fmt.Errorf("%w: use valid YAML", err)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("%w: use YAML that is like JSON, with texts as names", err)
	}
	return strictjson.Decode(text)
}

// EncodeYAML returns v as YAML with the names of its JSON.
func EncodeYAML(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return nil, err
	}
	return yaml.Marshal(value)
}
