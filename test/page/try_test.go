package page

import (
	"strings"
	"testing"
)

// An operator tries another limit on the requests that come after the first question.
func TestTryALimit(t *testing.T) {
	t.Parallel()
	nodes, _ := startFleet(t, 1)
	b := open(t, newBrowser(t), "http://"+nodes[0].Addr+"/rate_limit/")
	b.awaitLive()
	b.click("td button.link", "user")
	b.awaitText(".try", "What would another limit of user")
	b.fill(".try form", "Limit", "25/1h")
	b.click(".try button.primary", "Try it")
	b.awaitText(".try", "Requests are remembered from now on")
	for range 3 {
		nodes[0].AwaitStatus(429, "sk_pro_7") // until the key is rejected
	}
	b.click(".try button.primary", "Try it")
	b.awaitText(".try tr.chosen", "25/1h")
	b.awaitText(".try tr.chosen", "in force")
	b.awaitText(".try", "of 1 key")
	for _, width := range []int64{1100, 375} {
		b.size(width, 1500)
		b.checkWidth("the trial")
	}
	b.checkAccess("the trial")
	b.fill(".try form", "Tier", "gold")
	b.click(".try button.primary", "Try it")
	b.awaitText(".try .notice", `for tier "gold"`)
	if text := b.eval(`document.querySelector(".try").innerText`).(string); strings.Contains(text, "25/1h\ttried") {
		t.Errorf("beside the error, the page shows the last answer:\n%s", text)
	}
}
