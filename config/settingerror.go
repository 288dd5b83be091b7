package config

// A SettingError is what is wrong with a part of a zone. Parsers of Caddyfiles name its line.
type SettingError struct {
	Setting  string // its subdirective, unless it is an endpoint
	Endpoint int    // the number of the endpoint, from 1
	Err      error
}

// Error implements error.
func (e *SettingError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong.
func (e *SettingError) Unwrap() error { return e.Err }

// ErrorIn returns err as what is wrong with a setting, nil if it is nil.
func ErrorIn(setting string, err error) error {
	if err == nil {
		return nil
	}
	return &SettingError{Setting: setting, Err: err}
}
