package api

import (
	"encoding/json"
	"testing"
	"time"
)

func TestDecisionLines(t *testing.T) {
	remaining := int64(0)
	told := &Decision{Time: time.Unix(1, 0).UTC(), Outcome: Rejected, Wait: Wait(60_500_400 * time.Microsecond), Remaining: &remaining,
		Request: Request{ClientIP: "192.0.2.1", KeyHash: "1234"}}
	for _, tc := range []struct {
		line DecisionLine
		want string
	}{
		{DecisionLine{Decision: told}, `{"time":"1970-01-01T00:00:01Z","outcome":"rejected","remote_ip":"","client_ip":"192.0.2.1",` +
			`"method":"","host":"","path":"","key_hash":"1234","wait":"1m0.5s","remaining":0}`},
		{DecisionLine{Dropped: 7}, `{"dropped":7}`},
		{DecisionLine{End: EndLimit}, `{"end":"limit"}`},
	} {
		text, err := json.Marshal(tc.line)
		if err != nil || string(text) != tc.want {
			t.Errorf("%s, %v, want %s", text, err, tc.want)
		}
		var read DecisionLine
		if err := json.Unmarshal(text, &read); err != nil || (read.Decision == nil) != (tc.line.Decision == nil) {
			t.Errorf("%s is read as %+v, %v", text, read, err)
		}
		if again, _ := json.Marshal(read); string(again) != tc.want {
			t.Errorf("%s is read and written as %s", text, again)
		}
	}
	if err := json.Unmarshal([]byte(`{"outcome":"rejected","wait":"soon"}`), new(DecisionLine)); err == nil {
		t.Error("a wait that is no duration is accepted")
	}
}
