package renderer

import (
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/Masterminds/sprig/v3"
	chart "helm.sh/helm/v4/pkg/chart/v2"
)

// unstable are the template functions whose result is not the same each time, or
// not the same as in a cluster.
var unstable = []string{
	"ago", "bcrypt", "encryptAES", "genCA", "genCAWithKey", "genPrivateKey", "genSelfSignedCert", "genSelfSignedCertWithKey",
	"genSignedCert", "genSignedCertWithKey", "htpasswd", "now", "randAlpha", "randAlphaNum", "randAscii", "randBytes", "randInt", "randNumeric", "shuffle", "uuidv4",
}

// recorder notes which unstable functions were called.
type recorder map[string]bool

// functions are the same as Helm's, but noted. A lookup finds nothing, as in
// `helm template`.
func (r recorder) functions() template.FuncMap {
	original := sprig.TxtFuncMap()
	noted := template.FuncMap{"lookup": func(_, _, _, _ string) map[string]any {
		r["lookup"] = true
		return map[string]any{}
	}}
	for _, name := range unstable {
		if f, ok := original[name]; ok {
			noted[name] = r.noting(name, f)
		}
	}
	return noted
}

// noting is a function that notes its call and does what f does.
func (r recorder) noting(name string, f any) any {
	call := reflect.ValueOf(f)
	return reflect.MakeFunc(call.Type(), func(arguments []reflect.Value) []reflect.Value {
		r[name] = true
		if call.Type().IsVariadic() {
			return call.CallSlice(arguments)
		}
		return call.Call(arguments)
	}).Interface()
}

// places are where the chart's templates mention what was called, as file:line:
// function. A function that no template mentions was called by a template in the
// values.
func (r recorder) places(folder string, c *chart.Chart) []string {
	if len(r) == 0 {
		return nil
	}
	found := map[string]bool{}
	mentioned := map[string]bool{}
	r.inChart(c, func(name string, line int, function string) {
		mentioned[function] = true
		found[fmt.Sprintf("%s:%d: %s", path.Join(folder, name), line, function)] = true
	})
	for function := range r {
		if !mentioned[function] {
			found[fmt.Sprintf("%s: %s", path.Join(folder, "values.yaml"), function)] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func (r recorder) inChart(c *chart.Chart, report func(name string, line int, function string)) {
	for _, t := range c.Templates {
		for line, functions := range identifiers(string(t.Data)) {
			for _, function := range functions {
				if r[function] {
					report(t.Name, line, function)
				}
			}
		}
	}
	for _, d := range c.Dependencies() {
		r.inChart(d, func(name string, line int, function string) {
			report(path.Join("charts", d.Name(), name), line, function)
		})
	}
}

// identifiers are the functions that a template names, by line.
func identifiers(text string) map[int][]string {
	t := parse.New("template")
	t.Mode = parse.SkipFuncCheck
	trees := map[string]*parse.Tree{}
	if _, err := t.Parse(text, "", "", trees); err != nil {
		return nil // it does not render either
	}
	found := map[int][]string{}
	for _, tree := range trees {
		if tree.Root != nil {
			collectIdentifiers(reflect.ValueOf(tree.Root), text, found)
		}
	}
	return found
}

// collectIdentifiers walks everything below a node that is a node too.
func collectIdentifiers(v reflect.Value, text string, found map[int][]string) {
	switch v.Kind() { //nolint:exhaustive // nodes are made of these only
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return
		}
		if identifier, ok := v.Interface().(*parse.IdentifierNode); ok {
			line := 1 + strings.Count(text[:identifier.Pos], "\n")
			found[line] = append(found[line], identifier.Ident)
			return
		}
		if _, ok := v.Interface().(*parse.Tree); ok {
			return
		}
		collectIdentifiers(v.Elem(), text, found)
	case reflect.Slice:
		for i := range v.Len() {
			collectIdentifiers(v.Index(i), text, found)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				collectIdentifiers(v.Field(i), text, found)
			}
		}
	}
}
