package command

import "testing"

func TestTierCommand(t *testing.T) {
	testCommands(t, []commandCase{
		{command: "tier add user pro a", request: `POST tiers {"key":"a","tier":"pro","zone":"user"}`},
		{command: "tier add user pro --key-file -", input: "a", request: `POST tiers {"key":"a","tier":"pro","zone":"user"}`},
		{command: "tier add user a", wrong: "there is no key"},
		{command: "tier change x --tier free", request: `PATCH tiers/x {"tier":"free"}`},
	})
}
