package docs

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetlimit/fleetlimit/config"
)

const (
	jsonPage       = "docs/configure/json.md"
	wholeCaddyfile = "test/docs/testdata/Caddyfile" // has every setting at least once
)

// TestEveryMemberIsInItsTable compares the tables of docs/configure/json.md with the fields of package
// config: each object has a heading, and a row for each of its members, in order and with its type. The last
// column of a row says in a clause what the comment of the field says.
func TestEveryMemberIsInItsTable(t *testing.T) {
	_, page := split(t, jsonPage)
	commented := commentedFields(t)
	for _, of := range objects() {
		if withoutEffect[words(of)] {
			continue
		}
		_, section, found := strings.Cut(page, "\n## "+words(of)+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		if !found {
			t.Errorf("%s has no heading %s", jsonPage, words(of))
			continue
		}
		var got, want []string
		for _, match := range memberRow.FindAllStringSubmatch(section, -1) {
			got = append(got, match[1]+" | "+linked.ReplaceAllString(match[2], "$1"))
		}
		for _, f := range fieldsOf(of) {
			if withoutEffect[fieldName(f)] {
				continue
			}
			if f.Anonymous {
				want = append(want, " | "+words(f.Type))
				continue
			}
			want = append(want, "`"+fieldName(f)+"` | "+valueOf(f.Type))
			if !commented[[2]string{of.Name(), f.Name}] {
				t.Errorf("%s.%s in package config has no comment, which Caddy's site would show", of.Name(), f.Name)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s has these members of %s\n%s\nwant\n%s", jsonPage, words(of), strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// withoutEffect are the fields that the page names in a sentence, and in no table.
var withoutEffect = map[string]bool{"sweep_interval": true, "distributed": true, "storage": true, "place": true}

var (
	memberRow = regexp.MustCompile("(?m)^\\| (`[a-z0-9_]+`|) ?\\| ([^|]+) \\| [^|]+ \\|$")
	linked    = regexp.MustCompile(`\[([^\]]+)\]\([^)]+\)`)
)

// objects returns the types of the objects of a configuration, each after the first object that has it.
func objects() (all []reflect.Type) {
	known := make(map[reflect.Type]bool)
	var add func(of reflect.Type)
	add = func(of reflect.Type) {
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			if of != reflect.TypeFor[json.RawMessage]() {
				add(of.Elem())
			}
		case reflect.Struct:
			if known[of] {
				return
			}
			known[of] = true
			all = append(all, of)
			for _, f := range fieldsOf(of) {
				add(f.Type)
			}
		}
	}
	add(reflect.TypeFor[config.Handler]())
	add(reflect.TypeFor[config.App]())
	return all
}

// fieldsOf returns the fields of an object that are in its JSON, and its embedded objects.
func fieldsOf(of reflect.Type) (fields []reflect.StructField) {
	for f := range of.Fields() {
		if f.Anonymous || f.Tag.Get("json") != "" {
			fields = append(fields, f)
		}
	}
	return fields
}

func fieldName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// words returns the name of a type as words: zone tier.
func words(of reflect.Type) string {
	var b strings.Builder
	for i, c := range of.Name() {
		if i > 0 && unicode.IsUpper(c) && unicode.IsLower(rune(of.Name()[i-1])) {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

// valueOf returns the name of the JSON value of a type.
func valueOf(of reflect.Type) string {
	switch of {
	case reflect.TypeFor[caddy.Duration]():
		return "duration"
	case reflect.TypeFor[config.Fraction]():
		return "fraction"
	case reflect.TypeFor[json.RawMessage]():
		return "module"
	case reflect.TypeFor[caddyhttp.RawMatcherSets]():
		return "list of matcher sets"
	}
	switch of.Kind() {
	case reflect.Pointer:
		return valueOf(of.Elem())
	case reflect.Slice:
		return "list of " + valueOf(of.Elem())
	case reflect.Map:
		return valueOf(of.Elem()) + " by name"
	case reflect.Struct:
		return words(of)
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "`true`"
	}
	return "number"
}

// commentedFields returns the fields of package config that have a comment, by type and field.
func commentedFields(t *testing.T) map[[2]string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "config", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[[2]string]bool)
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, isType := n.(*ast.TypeSpec)
			if !isType {
				return true
			}
			if object, isStruct := spec.Type.(*ast.StructType); isStruct {
				for _, f := range object.Fields.List {
					for _, name := range f.Names {
						all[[2]string{spec.Name.Name, name.Name}] = f.Doc.Text() != ""
					}
				}
			}
			return true
		})
	}
	return all
}

// unshown are the fields that testdata/caddy.json does not have: fields of caddy-ratelimit, fields that only
// the Caddyfile adapter sets, and fields that exclude others.
var unshown = map[string]bool{
	"handler sweep_interval": true, "handler distributed": true, "handler storage": true,
	"zone window": true, "zone max_events": true, "distributed read_interval": true,
	"distributed write_interval": true, "distributed purge_age": true,
	"handler place": true, "zone place": true, "redis place": true, "rule store place": true,
	"decision log place": true,
	"redis tls ca":       true, "redis tls insecure_skip_verify": true,
}

// TestWholeConfigurationIsWhole compares testdata/caddy.json with what testdata/Caddyfile adapts to, and
// looks for every field in it.
func TestWholeConfigurationIsWhole(t *testing.T) {
	caddyfile := &examplesOf(t, wholeCaddyfile)[0]
	checkFormat(t, caddyfile)
	text := []byte(read(t, "test/docs/testdata/caddy.json"))
	validate(t, text)
	adapted, whole := decode(t, adapt(t, caddyfile)), decode(t, text)
	compare[config.Handler](t, handlerOf(t, adapted), handlerOf(t, whole))
	compare[config.App](t, appOf(t, adapted), appOf(t, whole))
	shown := make(map[string]bool)
	mark[config.Handler](t, shown, handlerOf(t, whole))
	mark[config.App](t, shown, appOf(t, whole))
	for _, of := range objects() {
		for _, f := range fieldsOf(of) {
			if name := words(of) + " " + fieldName(f); !f.Anonymous && shown[name] == unshown[name] {
				t.Errorf("testdata/caddy.json has the field %s: %v, want %v", name, shown[name], !unshown[name])
			}
		}
	}
}

// otherWords are names that the Caddyfile gives, and words of Caddy.
var otherWords = []string{"not", "free", "pro", "internal", "respond", "rate_limit"}

// TestGrammarHasEverySubdirective looks in docs/configure/grammar.md for the first words of the lines of
// the Caddyfile that has every setting.
func TestGrammarHasEverySubdirective(t *testing.T) {
	examples, _ := split(t, "docs/configure/grammar.md")
	grammar := strings.Fields(examples[0].text)
	looked := 0
	for line := range strings.Lines(read(t, wholeCaddyfile)) {
		word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.Trim(word, "abcdefghijklmnopqrstuvwxyz_0123456789") != "" || word == "" || slices.Contains(otherWords, word) {
			continue
		}
		looked++
		if !slices.Contains(grammar, word) {
			t.Errorf("docs/configure/grammar.md lacks %s, which %s has", word, wholeCaddyfile)
		}
	}
	if looked < 60 {
		t.Errorf("%d subdirectives were looked for, want 60 or more", looked)
	}
}

// mark adds to shown the fields that a part of a configuration sets.
func mark[Part any](t *testing.T, shown map[string]bool, object any) {
	t.Helper()
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer:
			if !v.IsNil() {
				walk(v.Elem())
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case reflect.Map:
			for _, key := range v.MapKeys() {
				walk(v.MapIndex(key))
			}
		case reflect.Struct:
			for _, f := range fieldsOf(v.Type()) {
				value := v.FieldByIndex(f.Index)
				if !value.IsZero() && !f.Anonymous {
					shown[words(v.Type())+" "+fieldName(f)] = true
				}
				walk(value)
			}
		}
	}
	part := parsePart[Part](t, object)
	walk(reflect.ValueOf(part))
}
