package strictjson

import "encoding/json"

// MergePatch stores before, as a JSON merge patch changes it (RFC 7396), in the struct that after
// points to: null removes a member, arrays are replaced whole. before is what json.Marshal accepts,
// and patch has the types that [Decode] returns.
func MergePatch(before, patch, after any) error {
	text, err := json.Marshal(before)
	if err != nil {
		return err
	}
	target, err := Decode(text)
	if err != nil {
		return err
	}
	return Convert(merge(target, patch), after)
}

// merge returns target as patch changes it. It uses the objects of target, and the arrays of patch.
func merge(target, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	object, ok := target.(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	for name, value := range changes {
		if value == nil {
			delete(object, name)
		} else {
			object[name] = merge(object[name], value)
		}
	}
	return object
}
