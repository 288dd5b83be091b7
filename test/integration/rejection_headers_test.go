package integration

import (
	"strings"
	"testing"
)

// A site that replaces text in the headers of its rejections changes no other response.
func TestHeadersOfRejectionsAreNotShared(t *testing.T) {
	for _, refused := range []string{"limit block", "limit 1/1h\ndeny_key static"} {
		for _, style := range []string{"json", "problem"} {
			limited := "rate_limit {\nzone user {\nkey static\n" + refused +
				"\n}\nreject " + style + "\n}\nrespond hello"
			contentType := "application/" + strings.Replace(style, "problem", "problem+json", 1)
			g := serve(t, "header >Cache-Control no-store private\nheader >Content-Type application text\n"+limited)
			g.get("/").has("Cache-Control", "private").has("Content-Type", strings.Replace(contentType, "application", "text", 1))
			g.reload(limited)
			g.get("/").has("Cache-Control", "no-store").has("Content-Type", contentType)
		}
	}
}
