package keytemplate_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/internal/key/keytemplate"
)

func ExampleParse() {
	key, err := keytemplate.Parse("{http.request.header.X-Api-Key}", keytemplate.Options{})
	if err != nil {
		panic(err)
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	for _, values := range [][]string{{" sk_1 "}, {}, {"sk_1", "sk_2"}} {
		r.Header["X-Api-Key"] = values
		repl := caddyhttp.NewTestReplacer(r)
		_, presence, _ := key.Append(nil, r, repl)
		fmt.Printf("%q: %v %q\n", values, presence == keytemplate.Present, key.Text(r, repl))
	}
	// Output:
	// [" sk_1 "]: true "sk_1"
	// []: false ""
	// ["sk_1" "sk_2"]: false ""
}

func ExampleParsePlaceholder() {
	for _, text := range []string{"{http.auth.user.tier}", "{http.request.header.X-Tier}"} {
		_, err := keytemplate.ParsePlaceholder(text, false)
		fmt.Println(text, err == nil)
	}
	_, err := keytemplate.ParsePlaceholder("{env.FLEETLIMIT_UNSET}", false)
	fmt.Println(errors.Is(err, keytemplate.ErrUnset))
	// Output:
	// {http.auth.user.tier} true
	// {http.request.header.X-Tier} false
	// true
}
