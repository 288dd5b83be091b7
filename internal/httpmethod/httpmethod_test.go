package httpmethod

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for _, method := range append(append([]string{}, common...), others...) {
		if doubt, err := Check(method); doubt != "" || err != nil {
			t.Errorf("%s is doubtful (%q) or refused: %v", method, doubt, err)
		}
	}
	for _, method := range []string{"MYMETHOD", "FROBNICATE", "WEBSOCKET", "PULL", "CALL"} {
		if doubt, err := Check(method); !strings.Contains(doubt, method) || err != nil {
			t.Errorf("Check(%s) = %q, %v; want a doubt", method, doubt, err)
		}
	}
	for method, want := range map[string]string{
		"GETS": "did you mean GET?", "PSOT": "did you mean POST?", "FETCH": "did you mean PATCH?", "DEL": "did you mean DELETE?",
		"DELTE": "did you mean DELETE?", "OPTION": "did you mean OPTIONS?", "ANY": "use none", "ALL": "use none",
		"": "such as GET", "GET POST": "such as GET", "GET,POST": "such as GET", "*": "use none",
	} {
		if doubt, err := Check(method); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Check(%q) = %q, %v; want an error with %q", method, doubt, err, want)
		}
	}
}
