package command

import "testing"

func TestStatusCommand(t *testing.T) {
	testCommands(t, []commandCase{
		{command: "status", request: "GET status"},
		{command: "status zones", request: "GET zones"},
		{command: "status nodes", request: "GET nodes"},
	})
	ran := runCommand(t, "", `{"count":2,"self":"b","nodes":[{"name":"a","seen_ago":"2s"},{"name":"b"}]}`, "status", "nodes")
	const want = "NODE  SEEN    SELF\na     2s ago  -\nb     -       yes\n"
	if ran.err != nil || ran.output != want {
		t.Errorf("%v, output\n%s, want\n%s", ran.err, ran.output, want)
	}
}
