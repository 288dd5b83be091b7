package attack

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// A respelled is a value that some upstream reads as the key. $ stands for the key in it.
type respelled struct{ upstream, value string }

// valueWays returns the ways to write a key in the form of each of these values.
func valueWays(values []respelled, write func(value string) request) (ways []way) {
	for _, v := range values {
		ways = append(ways, way{fmt.Sprintf("%s %q", v.upstream, v.value), func(key string, n int) request {
			return write(strings.NewReplacer("$", key, "#", fmt.Sprint(n)).Replace(v.value))
		}})
	}
	return ways
}

// The upstream reads the key wherever it stands in the header, as the upstreams named here do.
func TestRespelledValuesOfHeaderShareCount(t *testing.T) {
	u := newUpstream(func(r *http.Request) []string { return victimKeys.FindAllString(r.Header.Get("X-Api-Key"), -1) })
	g := serve(t, zoned("{http.request.header.X-Api-Key}"), u.ServeHTTP)
	write := func(value string) request { return get("/", field{"X-Api-Key", value}) }
	attackWith(t, u, protocols(t, g), keyHeader, valueWays([]respelled{
		{"Pyramid, Tornado, Mojolicious", "\xa0$"}, {"Pyramid, Tornado", "$\xa0"}, {"Tornado", "$\x85"}, {"Mojolicious", "\x85$"},
		{"Tornado", " \x85 $"}, {"Tornado", "$ \xa0\t\x85"}, {"ASP.NET", "$\u00a0"}, {"ASP.NET", "\u3000$"}, {"any that trims", "$\ufeff"},
	}, write))
	for protocol, do := range protocols(t, g) {
		for _, value := range []string{"Zo\u00eb", "andr\u00e0", "\u0420", "jos\xe9", "a\u00a0b"} {
			if status := do(write(value + protocol + value)); status != http.StatusOK {
				t.Errorf("%s: status of an ordinary value %q = %d, want 200", protocol, value, status)
			}
		}
	}
}

func TestRespelledValuesOfParameterShareCount(t *testing.T) {
	u := newUpstream(func(r *http.Request) []string { return victimKeys.FindAllString(r.URL.RawQuery, -1) })
	g := serve(t, zoned("{http.request.uri.query.key}"), u.ServeHTTP)
	write := func(value string) request { return get("/?key=" + value) }
	attackWith(t, u, protocols(t, g), keyQuery, valueWays([]respelled{
		{"Tornado", "$%01"}, {"Tornado", "%1f$"}, {"Tornado", "$%C2%A0"}, {"Tornado", "%E3%80%80$"}, {"Tornado", "$+%0B"}, {"Tornado", "$%C2%85%09"},
		{"PHP with trim", "$%00"}, {"PHP with trim", "%0a$"}, {"any that trims", "$%EF%BB%BF"}, {"any in C", "$%00#"}, {"Latin-1", "$%A0"},
		{"any that removes controls", "$%7f"},
	}, write))
	for protocol, do := range protocols(t, g) {
		for _, value := range []string{"Zo%C3%AB", "andr%C3%A0", "a%0Ab", "a%C2%A0b", "a+b", "%E2%80%A6"} {
			if status := do(write(value + protocol + value)); status != http.StatusOK {
				t.Errorf("%s: status of an ordinary value %q = %d, want 200", protocol, value, status)
			}
		}
	}
}

// Ambiguous cookies count by address. The limit of the address is exhausted first.
func TestRespelledValuesOfCookieShareCount(t *testing.T) {
	u := newUpstream(func(r *http.Request) []string {
		return victimKeys.FindAllString(strings.Join(r.Header["Cookie"], ";"), -1)
	})
	g := serve(t, zoned("{http.request.cookie.key}"), u.ServeHTTP)
	do := http1(g)
	for range limit {
		if status := do(get("/", field{"Cookie", "key=1; key=2"})); status != http.StatusOK {
			t.Fatalf("an ambiguous cookie: status %d, want 200", status)
		}
	}
	write := func(value string) request { return get("/", field{"Cookie", "key=" + value}) }
	attackWith(t, u, protocols(t, g), keyCookie, valueWays([]respelled{
		{"Pyramid, Mojolicious", "$,"}, {"Pyramid, Mojolicious", "$, #"}, {"Pyramid, Mojolicious", "$ #"}, {"Pyramid, Mojolicious", "$,x=#"},
		{"Pyramid", "$[#"}, {"Pyramid", "$]"}, {"Pyramid", "$\\#"}, {"Pyramid", "$\"#"}, {"Pyramid", "\\$"}, {"Pyramid", "#[key=$"}, {"Pyramid", "#\\key =$"},
		{"Starlette, Tornado, Falcon", "\x85$"}, {"Starlette, Tornado, Falcon", "$\xa0"}, {"Django", "$\u3000"}, {"CGI.pm", "$&#"},
		{"Bottle", "$,#"}, {"any in C", "$%00#"}, {"any that decodes and trims", "$%C2%A0"}, {"any that decodes and trims", "%0A$"},
	}, write))
	for protocol, do := range protocols(t, g) {
		for _, value := range []string{"a+b/c==", "s%3Aa.b%2Bc", "a-b_c.d:e|f", "%7B%22a%22%3A%5B1%2C2%5D%7D", "a%0A--b", "John%20Smith"} {
			if status := do(write(value + protocol + value)); status != http.StatusOK {
				t.Errorf("%s: status of an ordinary value %q = %d, want 200", protocol, value, status)
			}
		}
	}
}
