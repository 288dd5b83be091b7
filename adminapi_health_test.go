package fleetlimit

import (
	"encoding/json"
	"net/http/httptest"
	"testing"

	"github.com/fleetlimit/fleetlimit/internal/adminapi"
)

// Two fleets in one configuration that is being replaced by another one: each has its entry.
func TestServeReadyListsStores(t *testing.T) {
	provisionedApp(t, `{"redis": {"addresses": ["192.0.2.2:6379"]}}`)
	provisionedApp(t, `{"redis": {"addresses": ["192.0.2.1:6379"]}}`)
	provisionedApp(t, `{}`)
	w := httptest.NewRecorder()
	if err := serveReady(w, nil); err != nil {
		t.Fatal(err)
	}
	var got adminapi.Readiness
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Stores) != 2 || got.Stores[0].Primaries[0].Address != "192.0.2.1:6379" ||
		got.Stores[1].Primaries[0].Address != "192.0.2.2:6379" {
		t.Errorf("body = %s, want the two Redis servers in order, and not the store in memory", w.Body)
	}
}
