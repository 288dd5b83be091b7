package config

// A SettingError says what is wrong with a setting or an endpoint of a zone. Parsers of Caddyfiles
// report it at the line of that part.
type SettingError struct {
	Setting  string // the subdirective that is wrong, unless an endpoint is
	Endpoint int    // the number of the endpoint, from 1
	Err      error
}

// Error implements error.
func (e *SettingError) Error() string { return e.Err.Error() }

// Unwrap returns e.Err.
func (e *SettingError) Unwrap() error { return e.Err }

// ErrorIn returns err as a SettingError about a setting. It returns nil if err is nil.
func ErrorIn(setting string, err error) error {
	if err == nil {
		return nil
	}
	return &SettingError{Setting: setting, Err: err}
}
