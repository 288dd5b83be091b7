package strictjson

import "encoding/json"

// MergePatch changes before by a JSON merge patch (RFC 7396), and stores the result in the struct that
// after points to. A null in the patch removes a member, and an array replaces the whole array. before
// is a value for json.Marshal. patch has the types that [Decode] returns.
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

// merge returns target as patch changes it. The result shares the objects of target and the arrays of
// patch.
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
