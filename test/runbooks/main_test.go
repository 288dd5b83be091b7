// Package runbooks walks the pages of docs/runbooks: each test produces the symptom of a page on
// real nodes, runs the commands of the page in their order, and checks what they do.
package runbooks

import (
	"testing"

	"github.com/fleetlimit/fleetlimit/test/nodetest"
)

func TestMain(m *testing.M) { nodetest.Main(m) }
