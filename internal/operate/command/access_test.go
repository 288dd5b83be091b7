package command

import "testing"

func TestAccessCommand(t *testing.T) {
	testCommands(t, []commandCase{
		{command: "access deny 192.0.2.0/24 --expires-in 1h",
			request: `POST access {"action":"deny","address":"192.0.2.0/24","expires_in":"1h"}`},
		{command: "access allow --zone user a", request: `POST access {"action":"allow","key":"a","zone":"user"}`},
		{command: "access allow", wrong: "there is no address"},
		{command: "access deny --missing a", wrong: "use --zone"},
		{command: "access deny --zone user", wrong: "there is no key"},
		{command: "access change x --action allow", request: `PATCH access/x {"action":"allow"}`},
	})
}
