package command

import "testing"

func TestCommandsOnKeys(t *testing.T) {
	testCommands(t, []commandCase{
		{command: "reset user a --reason x", request: `POST zones/user/reset {"key":"a","reason":"x"}`},
		{command: "reset user a b", request: `POST zones/user/reset {"keys":["a","b"]}`},
		{command: "reset user --key-file -", input: "a\r\n\nb c", request: `POST zones/user/reset {"keys":["a","b c"]}`},
		{command: "reset user --key-file -", input: "a\n", request: `POST zones/user/reset {"key":"a"}`},
		{command: "reset user /w== --base64 --missing --endpoint /a",
			request: `POST zones/user/reset {"endpoint":"/a","key_base64":"/w==","missing":true}`},
		{command: "reset a/b k", request: `POST zones/a%2Fb/reset {"key":"k"}`},
		{command: "add-quota user 500 a", request: `POST zones/user/quota {"events":500,"key":"a"}`},
		{command: "add-quota user a", wrong: `"a" is no number of events`},
		{command: "reset user", wrong: "there is no key: use"},
		{command: "reset user a --key-file -", wrong: "both a key and --key-file"},
		{command: "reset user --key-file -", wrong: "has no key: use"},
		{command: "reset user --key-file /does/not/exist", wrong: "use a file that can be read"},
		{command: "reset user a b --base64", wrong: "2 keys with --base64: use one"},
		{command: "reset user a b --stored", wrong: "2 keys with --stored: use one"},
		{command: "reset user a --stored --base64", wrong: "both --base64 and --stored: use one of them"},
		{command: "reset user ZA== --stored", request: `POST zones/user/reset {"key_stored":"ZA=="}`},
		{command: "override add user --limit 1/s --key-file -", input: "a\nb\n", wrong: "there are 2 keys: use one"},
	})
}
