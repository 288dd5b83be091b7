package attack

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// limit is the number of requests that the zones of these tests admit in an hour.
const limit = 3

// zoned returns a zone that does not apply to requests without a key.
func zoned(key string) string {
	return fmt.Sprintf(`rate_limit {
		zone key {
			key %s
			on_missing_key skip
			limit %d/1h
			algorithm sliding_window_log
			deny_key stolen*
		}
	}`, key, limit)
}

func get(target string, header ...field) request {
	return request{method: "GET", target: target, host: "api.example", header: header}
}

// A way spells the key in a request. n is the number of the request, for ways that make each request different.
type way struct {
	name  string
	write func(key string, n int) request
}

// attackWith exhausts keys and tries each way to spell them. It fails if the upstream sees a key
// more often than the limit.
func attackWith(t *testing.T, u *upstream, clients map[string]client, plain func(key string, n int) request, ways []way) {
	for protocol, do := range clients {
		for i, w := range ways {
			t.Run(protocol+"/"+w.name, func(t *testing.T) {
				key := fmt.Sprintf("victim-%s-%d", protocol, i)
				for n := range limit {
					if status := do(plain(key, n)); status != http.StatusOK {
						t.Fatalf("request %d within the limit: status %d, want 200", n, status)
					}
				}
				if status := do(plain(key, limit)); status != http.StatusTooManyRequests {
					t.Fatalf("request above the limit: status %d, want 429", status)
				}
				stolen := "stolen-" + key
				for n := range 10 {
					if status := do(w.write(key, n)); status >= 500 {
						t.Errorf("status %d, want none of 500 or above", status)
					}
					do(w.write(stolen, n))
				}
				if seen := u.count(key); seen > limit {
					t.Errorf("requests at the upstream = %d, want at most %d", seen, limit)
				}
				if seen := u.count(stolen); seen > 0 {
					t.Errorf("requests at the upstream with a denied key = %d, want 0", seen)
				}
			})
		}
	}
}

// spaces returns white space that readers of a header remove.
func spaces(n int) string { return strings.Repeat(" \t", n) }

func keyHeader(key string, _ int) request { return get("/", field{"X-Api-Key", key}) }

// headerWay writes the key into these fields.
func headerWay(name string, fields func(key string, n int) []field) way {
	return way{name, func(key string, n int) request { return get("/", fields(key, n)...) }}
}

// headerWays returns the ways that work in all protocols.
func headerWays() []way {
	return []way{
		headerWay("spaces before", func(key string, n int) []field { return []field{{"X-Api-Key", spaces(n+1) + key}} }),
		headerWay("spaces after", func(key string, n int) []field { return []field{{"X-Api-Key", key + spaces(n+1)}} }),
		headerWay("spaces around", func(key string, n int) []field { return []field{{"X-Api-Key", spaces(n) + key + "\t"}} }),
		headerWay("twice", func(key string, n int) []field { return []field{{"X-Api-Key", key}, {"X-Api-Key", strconv.Itoa(n)}} }),
		headerWay("twice, the key last", func(key string, n int) []field { return []field{{"x-api-key", strconv.Itoa(n)}, {"X-API-KEY", key}} }),
		headerWay("twice alike", func(key string, _ int) []field { return []field{{"X-Api-Key", key}, {"X-Api-Key", key}} }),
		headerWay("twice, one empty", func(key string, _ int) []field { return []field{{"X-Api-Key", ""}, {"X-Api-Key", key}} }),
		headerWay("underscores", func(key string, _ int) []field { return []field{{"X_Api_Key", key}} }),
		headerWay("underscores beside another key", func(key string, n int) []field {
			return []field{{"X-Api-Key", strconv.Itoa(n)}, {"X-Api_Key", key}}
		}),
		headerWay("dots", func(key string, _ int) []field { return []field{{"X.Api.Key", key}} }),
		headerWay("NUL", func(key string, _ int) []field { return []field{{"X-Api-Key", key + "\x00"}} }),
		headerWay("line feed", func(key string, _ int) []field { return []field{{"X-Api-Key", key + "\n"}} }),
		headerWay("Connection", func(key string, _ int) []field { return []field{{"X-Api-Key", key}, {"Connection", "X-Api-Key"}} }),
	}
}

// headerWays1 returns the ways that work only in HTTP/1.1.
func headerWays1() []way {
	return []way{
		headerWay("folded before", func(key string, _ int) []field { return []field{{"X-Api-Key", "\r\n " + key}} }),
		headerWay("folded after", func(key string, _ int) []field { return []field{{"X-Api-Key", key + "\r\n \t"}} }),
		headerWay("space before the colon", func(key string, _ int) []field { return []field{{"X-Api-Key ", key}} }),
		headerWay("a line without a colon", func(key string, _ int) []field { return []field{{"", "X-Api-Key"}, {"X-Api-Key", key}} }),
		headerWay("bare carriage return", func(key string, _ int) []field { return []field{{"A", "b\rX-Api-Key: " + key}} }),
		{"announced trailer", func(key string, _ int) request {
			r := get("/", field{"Transfer-Encoding", " chunked"}, field{"Trailer", " X-Api-Key"})
			r.body = "0\r\nX-Api-Key: " + key + "\r\n\r\n"
			return r
		}},
		{"trailer", func(key string, _ int) request {
			r := get("/", field{"Transfer-Encoding", " chunked"})
			r.body = "0\r\nX-Api-Key: " + key + "\r\n\r\n"
			return r
		}},
		{"announced trailer beside another key", func(key string, n int) request {
			r := get("/", field{"Transfer-Encoding", " chunked"}, field{"Trailer", " X-Api-Key"}, field{"X-Api-Key", strconv.Itoa(n)})
			r.body = "0\r\nX-Api-Key: " + key + "\r\n\r\n"
			return r
		}},
		{"absolute form", func(key string, n int) request {
			return get(fmt.Sprintf("http://%d.example/", n), field{"X-Api-Key", key})
		}},
	}
}

func TestSpellingsOfHeaderShareCount(t *testing.T) {
	u := newUpstream(keyHeaders)
	g := serve(t, zoned("{http.request.header.X-Api-Key}"), u.ServeHTTP)
	attackWith(t, u, protocols(t, g), keyHeader, headerWays())
	attackWith(t, u, map[string]client{"http1 alone": http1(g)}, keyHeader, headerWays1())
}

func keyQuery(key string, _ int) request { return get("/?key=" + url.QueryEscape(key)) }

func TestSpellingsOfParameterShareCount(t *testing.T) {
	u := newUpstream(keyParameters)
	g := serve(t, zoned("{http.request.uri.query.key}"), u.ServeHTTP)
	var ways []way
	for name, query := range map[string]string{
		"twice":                 "key=$key&key=$n",
		"twice, the key last":   "key=$n&key=$key",
		"twice, escaped name":   "key=$n&%6bey=$key",
		"escaped name":          "k%65y=$key",
		"after a semicolon":     "x=1;key=$key",
		"semicolon first":       ";key=$key&x=$n",
		"before a semicolon":    "key=$key;x=$n",
		"semicolon and key":     "key=$n&x;key=$key",
		"bad escape beside":     "key=$n%zz&key=$key",
		"bad escape in value":   "key=$key%zz",
		"array":                 "key[]=$key",
		"array with an index":   "key[$n]=$key",
		"escaped array":         "key%5b%5d=$key",
		"another case":          "KEY=$key",
		"space before the name": "+key=$key",
		"NUL after the name":    "key%00=$key",
		"space after the value": "key=$key+",
		"tab before the value":  "key=%09$key",
		"fragment":              "key=$key#$n",
		"fragment before":       "x=$n#&key=$key",
	} {
		ways = append(ways, way{name, func(key string, n int) request {
			return get("/?" + strings.NewReplacer("$key", key, "$n", strconv.Itoa(n)).Replace(query))
		}})
	}
	ways = append(ways, way{"many parameters", func(key string, _ int) request { return get("/?" + strings.Repeat("a&", 10_001) + "key=" + key) }})
	attackWith(t, u, protocols(t, g), keyQuery, ways)
}

func keyCookie(key string, _ int) request { return get("/", field{"Cookie", "key=" + key}) }

// Ambiguous cookies count by address. The limit of the address is exhausted first.
func TestSpellingsOfCookieShareCount(t *testing.T) {
	u := newUpstream(keyCookies)
	g := serve(t, zoned("{http.request.cookie.key}"), u.ServeHTTP)
	do := http1(g)
	for range limit {
		if status := do(get("/", field{"Cookie", "key=1; key=2"})); status != http.StatusOK {
			t.Fatalf("an ambiguous cookie: status %d, want 200", status)
		}
	}
	var ways []way
	for name, cookies := range map[string]string{
		"twice":                  "key=$key; key=other",
		"twice, the key last":    "key=other; key=$key",
		"another case":           "KEY=$key",
		"twice in another case":  "key=other; KEY=$key",
		"quoted":                 `key="$key"`,
		"quoted name":            `"key"=$key`,
		"escaped name":           "%6bey=$key",
		"after a comma":          "x=1, key=$key",
		"after a space":          "x=1 key=$key",
		"after a tab":            "x=1\tkey=$key",
		"in open quotes":         `x="1; key=$key`,
		"open quotes":            `key="$key`,
		"spaces":                 "key = $key ",
		"escape at the end":      "key=$key%20",
		"tab":                    "key=\t$key",
		"backslash in the value": `key=other\; key=$key`,
		"array":                  "key[]=$key",
		"many cookies":           strings.Repeat("a=1;", 3001) + "key=$key",
	} {
		ways = append(ways, headerWay(name, func(key string, _ int) []field {
			return []field{{"Cookie", strings.ReplaceAll(cookies, "$key", key)}}
		}))
	}
	ways = append(ways,
		headerWay("two lines", func(key string, _ int) []field { return []field{{"Cookie", "key=other"}, {"Cookie", "key=" + key}} }),
		headerWay("escaped value", func(key string, n int) []field {
			n %= len(key)
			return []field{{"Cookie", fmt.Sprintf("key=%s%%%02x%s", key[:n], key[n], key[n+1:])}}
		}))
	attackWith(t, u, protocols(t, g), keyCookie, ways)
}

// A client must not be able to send a key that the zone counts and that a proxy then removes: it would be
// anonymous to the upstream.
func TestAnonymousClientHasNoKey(t *testing.T) {
	u := newUpstream(func(r *http.Request) []string {
		if len(keyHeaders(r)) == 0 {
			return []string{"anonymous"}
		}
		return nil
	})
	g := serve(t, strings.Replace(zoned("{http.request.header.X-Api-Key}"), "on_missing_key skip\n", "", 1), u.ServeHTTP)
	for range limit {
		http1(g)(get("/"))
	}
	for protocol, do := range protocols(t, g) {
		for n := range 10 {
			do(get("/", field{"X-Api-Key", strconv.Itoa(n)}, field{"Connection", "close, X-Api-Key"}))
			do(get("/", field{"X-Api-Key", spaces(n)}))
			do(get("/", field{"X-Api-Key", ""}))
		}
		if seen := u.count("anonymous"); seen != limit {
			t.Errorf("%s: anonymous requests at the upstream = %d, want at most %d", protocol, seen, limit)
		}
	}
}

func TestSpellingsOfHostShareCount(t *testing.T) {
	for _, name := range []string{"host", "hostport", "header.Host"} {
		t.Run(name, func(t *testing.T) {
			u := newUpstream(func(r *http.Request) []string { return []string{strings.ToLower(strings.TrimRight(r.Host, "."))} })
			g := serve(t, zoned("{http.request."+name+"}"), u.ServeHTTP)
			plain := func(key string, _ int) request { return request{method: "GET", target: "/", host: key + ".example"} }
			ways := []way{
				{"case", func(key string, n int) request {
					n %= len(key)
					return request{method: "GET", target: "/", host: key[:n] + strings.ToUpper(key[n:n+1]) + key[n+1:] + ".EXAMPLE"}
				}},
				{"dot", func(key string, _ int) request { return request{method: "GET", target: "/", host: key + ".example."} }},
				{"fullwidth", func(key string, _ int) request { return to("ｈ" + key[1:] + ".example") }},
				{"ideographic dot", func(key string, _ int) request { return to(key + "。example") }},
			}
			for protocol, do := range protocols(t, g) {
				for i, w := range ways {
					key := fmt.Sprintf("%s-%d", protocol, i)
					for n := range limit {
						if status := do(plain(key, n)); status != http.StatusOK {
							t.Fatalf("request %d within the limit: status %d, want 200", n, status)
						}
					}
					for n := range 10 {
						do(w.write(key, n))
					}
					if seen := u.count(key + ".example"); seen != limit {
						t.Errorf("%s, %s: requests at the upstream = %d, want at most %d", protocol, w.name, seen, limit)
					}
				}
			}
		})
	}
}

// An address may have a zone identifier, which the proxy removes, and may be written in several ways.
func TestSpellingsOfAddressShareCount(t *testing.T) {
	ways := []way{
		{"zone", func(key string, n int) request { return to(fmt.Sprintf("[%s%%%d]", key, n)) }},
		{"quoted zone", func(key string, n int) request { return to(fmt.Sprintf("[%s%%25%d]", key, n)) }},
		{"zeros", func(key string, n int) request {
			return to("[" + strings.Replace(key, "::", strings.Repeat(":0", n%4+1)+"::", 1) + "]")
		}},
		{"case", func(key string, _ int) request { return to("[" + strings.ToUpper(key) + "]") }},
		{"dot", func(key string, _ int) request { return to("[" + key + "].") }},
	}
	for _, name := range []string{"host", "hostport", "header.Host"} {
		t.Run(name, func(t *testing.T) {
			u := newUpstream(func(r *http.Request) []string {
				address, _ := netip.ParseAddr(strings.Trim(r.Host, "[]."))
				return []string{address.String()}
			})
			g := serve(t, zoned("{http.request."+name+"}"), u.ServeHTTP)
			next := netip.MustParseAddr("2001:db8::a")
			for protocol, do := range protocols(t, g) {
				for _, w := range ways {
					next = next.Next()
					key := next.String()
					for n := range limit {
						if status := do(to("[" + key + "]")); status != http.StatusOK {
							t.Fatalf("request %d within the limit: status %d, want 200", n, status)
						}
					}
					for n := range 10 {
						do(w.write(key, n))
					}
					if seen := u.count(key); seen != limit {
						t.Errorf("%s, %s: requests at the upstream = %d, want at most %d", protocol, w.name, seen, limit)
					}
				}
			}
		})
	}
}

// to returns a request to a host.
func to(host string) request { return request{method: "GET", target: "/", host: host} }
