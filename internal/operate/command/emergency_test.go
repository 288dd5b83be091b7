package command

import "testing"

func TestEmergencyCommand(t *testing.T) {
	testCommands(t, []commandCase{
		{command: "emergency show", request: "GET emergency"},
		{command: "emergency on", request: "POST emergency {}"},
		{command: "emergency on --limit 5/1s --expires-in 1h --reason flood --all-nodes",
			request: `POST emergency {"all_nodes":true,"expires_in":"1h","limit":"5/1s","reason":"flood"}`},
		{command: "emergency off", request: "DELETE emergency"},
		{command: "emergency off --all-nodes", request: "DELETE emergency?all_nodes=true"},
	})
}
