package strictjson

// Merge returns target, which has the types that [Decode] returns, as a JSON merge patch changes it
// (RFC 7396). It uses the objects of both.
func Merge(target, patch any) any {
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
			object[name] = Merge(object[name], value)
		}
	}
	return object
}
