package command

import "testing"

func TestHistoryCommand(t *testing.T) {
	testCommands(t, []commandCase{
		{command: "history --key a", request: `POST history {"key":"a"}`},
		{command: "history --zone user", request: `POST history {"zone":"user"}`},
		{command: "history --zone user --missing --key 10.0.0.1", request: `POST history {"key":"10.0.0.1","missing":true,"zone":"user"}`},
		{command: "history --key-file -", input: "a", request: `POST history {"key":"a"}`},
		{command: "history --key-hash 2bd806c97f0e", request: `POST history {"key_hash":"2bd806c97f0e"}`},
		{command: "history --key a --limit 5 --versions 7", request: `POST history {"key":"a","limit":5,"versions":7}`},
		{command: "history --key a --key-hash 2bd806c97f0e", wrong: "there are both a key and --key-hash: use one of them"},
		{command: "history a --zone user", request: `POST history {"key":"a","zone":"user"}`},
		{command: "history a --key b", wrong: "there are both a key and --key: use one of them"},
		{command: "history a b", wrong: "the number of arguments is 2"},
	})
	ran := runCommand(t, "", `{"zones":["user"],"key":"a","node":"n1","since":"2026-01-02T03:00:00Z","oldest_version":4,"more":true,"missed":3,
		"events":[{"time":"2026-01-02T03:04:05Z","until":"2026-01-02T03:06:05Z","times":3,"kind":"rejected","zone":"user","what":"10/1m","tier":"pro","node":"n1","client_ip":"192.0.2.1","method":"GET","path":"/x"},
		{"time":"2026-01-02T03:04:04Z","kind":"override_made","zone":"user","endpoint":"/x","what":"x2","author":"alice","reason":"launch","version":5,"entry":"o"},
		{"time":"2026-01-02T03:04:03Z","kind":"reset","zone":"user","what":"","author":"bob","version":4}]}`, "history", "--key", "a")
	const want = `zones        user
key          a
node         n1
  has seen   reloads, tiers and rejections since 2026-01-02T03:00:00Z
rules        back to version 4
other nodes  have seen other rejections, tiers and reloads: ask each with --address
left out     3 events, as many began in one second

TIME                  WHAT           ZONE  ENDPOINT  TIER  DETAIL                                                                        BY     WHY
2026-01-02T03:04:05Z  rejected       user  -         pro   10/1m, until 2026-01-02T03:06:05Z, in 3 windows, first GET /x from 192.0.2.1  n1     -
2026-01-02T03:04:04Z  override made  user  /x        -     x2 (version 5)                                                                alice  launch
2026-01-02T03:04:03Z  reset          user  -         -     version 4                                                                     bob    -
There are more: use --limit or --versions
`
	if ran.err != nil || ran.output != want {
		t.Errorf("%v, output\n%s, want\n%s", ran.err, ran.output, want)
	}
}

// The keys of a zone are shown as in lists of the keys that use it most.
func TestHistoryCommandOfZone(t *testing.T) {
	ran := runCommand(t, "", `{"zones":["user"],"node":"n1","since":"2026-01-02T03:00:00Z","oldest_version":0,"more":false,"rules_error":"Redis is gone",
		"events":[{"time":"2026-01-02T03:04:05Z","kind":"rejected","zone":"user","key_shortened":"sk…","key_hash":"2bd806c97f0e","what":"block","node":"n1"}]}`,
		"history", "--zone", "user")
	const want = `zones        user
node         n1
  has seen   reloads, tiers and rejections since 2026-01-02T03:00:00Z
rules        not all versions: Redis is gone
other nodes  have seen other rejections, tiers and reloads: ask each with --address

TIME                  WHAT      ZONE  KEY  HASH          ENDPOINT  TIER  DETAIL  BY  WHY
2026-01-02T03:04:05Z  rejected  user  sk…  2bd806c97f0e  -         -     block   n1  -
`
	if ran.err != nil || ran.output != want {
		t.Errorf("%v, output\n%s, want\n%s", ran.err, ran.output, want)
	}
}

func TestKeyHashFlag(t *testing.T) {
	testCommands(t, []commandCase{
		{command: "inspect user --key-hash 2bd806c97f0e", request: `POST zones/user/inspect {"key_hash":"2bd806c97f0e"}`},
		{command: "reset user --key-hash 2bd806c97f0e", request: `POST zones/user/reset {"key_hash":"2bd806c97f0e"}`},
		{command: "add-quota user 5 --key-hash 2bd806c97f0e", request: `POST zones/user/quota {"events":5,"key_hash":"2bd806c97f0e"}`},
		{command: "override add user --key-hash 2bd806c97f0e --multiplier 2",
			request: `POST overrides {"key_hash":"2bd806c97f0e","multiplier":2,"zone":"user"}`},
		{command: "tier add user pro --key-hash 2bd806c97f0e", request: `POST tiers {"key_hash":"2bd806c97f0e","tier":"pro","zone":"user"}`},
		{command: "access deny --zone user --key-hash 2bd806c97f0e",
			request: `POST access {"action":"deny","key_hash":"2bd806c97f0e","zone":"user"}`},
		{command: "access deny --key-hash 2bd806c97f0e", wrong: "a key has no zone: use --zone"},
		{command: "inspect user --key-hash 2bd806c97f0e --stored", wrong: "there are both --key-hash and --stored: use one of them"},
		{command: "inspect user --key-hash 2bd806c97f0e --key-file -", wrong: "there are both --key-hash and --key-file: use one of them"},
	})
}
