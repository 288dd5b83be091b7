package command

import "testing"

func TestOverrideCommand(t *testing.T) {
	testCommands(t, []commandCase{
		{command: "override add user a --limit 5/1m --id x --expires-in 2h --reason r",
			request: `POST overrides {"expires_in":"2h","id":"x","key":"a","limit":"5/1m","reason":"r","zone":"user"}`},
		{command: "override add user a --multiplier 2.5 --endpoint /a --dry-run --if-match 3",
			request: `POST overrides?dry_run=true "3" {"endpoint":"/a","key":"a","multiplier":2.5,"zone":"user"}`},
		{command: "override add user a --concurrent 2", request: `POST overrides {"concurrent":2,"key":"a","zone":"user"}`},
		{command: "override change x --concurrent 3", request: `PATCH overrides/x {"concurrent":3}`},
		{command: "override change x --limit 5/1m", request: `PATCH overrides/x {"limit":"5/1m","multiplier":null}`},
		{command: "override change x --multiplier 2 --expires-at= --note n",
			request: `PATCH overrides/x?note=n {"expires_at":null,"limit":null,"multiplier":2}`},
	})
}
