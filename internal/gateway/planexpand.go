package gateway

import (
	"encoding/json"
	"fmt"
	"slices"
)

// A configuration that comes over the admin API to be planned is compiled, and its errors are
// answered. Whoever may ask for a plan need not be allowed to read the files and the environment of
// Caddy. So a placeholder of these is expanded only if the running configuration has the same text
// in a setting of the same name.

// A processText is a text with a placeholder of the process, and the setting that has the text.
type processText struct{ setting, text string }

// noteSettings keeps settings of the running configuration for plans.
func (a *App) noteSettings(settings any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.settings = append(a.settings, settings)
}

// checkProcessTexts refuses the texts of planned settings that the running configuration does not
// have.
func (a *App) checkProcessTexts(planned ...any) error {
	texts, err := processTextsOf(planned)
	if err != nil || len(texts) == 0 {
		return err
	}
	a.mu.Lock()
	running := slices.Clone(a.settings)
	a.mu.Unlock()
	known, err := processTextsOf(running)
	if err != nil {
		return err
	}
	for _, t := range texts {
		if !slices.Contains(known, t) {
			return fmt.Errorf("%s is %q, and a plan expands only placeholders that the running configuration has in the same "+
				"setting: use `caddy validate` where Caddy runs", t.setting, t.text)
		}
	}
	return nil
}

// processTextsOf returns the processTexts of settings, which it reads in the form of JSON.
func processTextsOf(settings any) ([]processText, error) {
	text, err := json.Marshal(settings)
	if err != nil || !globalPlaceholder.Match(text) {
		return nil, err
	}
	var decoded any
	if err := json.Unmarshal(text, &decoded); err != nil {
		return nil, err
	}
	return appendProcessTexts(nil, "", decoded), nil
}

func appendProcessTexts(texts []processText, setting string, in any) []processText {
	switch v := in.(type) {
	case string:
		if globalPlaceholder.MatchString(v) {
			texts = append(texts, processText{setting, v})
		}
	case []any:
		for _, element := range v {
			texts = appendProcessTexts(texts, setting, element)
		}
	case map[string]any:
		for name, value := range v {
			if name != "match" { // matchers of a plan are not loaded
				texts = appendProcessTexts(texts, name, value)
			}
		}
	}
	return texts
}
