package catalog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rendered is what a Go template makes of one list element.
func rendered(t *testing.T, template string) (value, problem string) {
	t.Helper()
	element := `{name: shop, count: 3, map: {b: "2", a: "1"}, list: [x, y], text: "one\ntwo"}`
	set := setOf("{{.name}}", "goTemplate: true", "list: {elements: ["+element+"]}")
	set = strings.Replace(set, "metadata: {name: '{{.name}}'}", fmt.Sprintf("metadata: {name: '{{.name}}', labels: {x: %q}}", template), 1)
	cat := load(t, map[string]string{"set.yaml": set})
	if len(cat.Problems) > 0 {
		return "", cat.Problems[0].Message
	}
	return cat.Deliveries[0].Targets[0].Labels["x"], ""
}

func TestGoTemplatesHaveArgoCDsFunctionsInAStableForm(t *testing.T) {
	for template, want := range map[string]string{
		`{{ toYaml .map }}`:                        "a: \"1\"\nb: \"2\"",
		`{{ (fromYaml "a: {b: c}").a.b }}`:         "c",
		`{{ index (fromYamlArray "[a, b]") 1 }}`:   "b",
		`{{ keys .map | join "," }}`:               "a,b",
		`{{ values .map | join "," }}`:             "1,2",
		`{{ repeat 3 "ab" }}`:                      "ababab",
		`{{ indent 2 .text }}`:                     "  one\n  two",
		`{{ nindent 2 .text }}`:                    "\n  one\n  two",
		`{{ until .count | join "" }}`:             "012",
		`{{ until -2 | join " " }}`:                "0 -1",
		`{{ untilStep 4 0 -2 | join " " }}`:        "4 2",
		`{{ normalize "My_Shop." }}`:               "my-shop",
		`{{ .missing }}`:                           "<no value>",
		`{{ range .list }}{{ . }}-{{ end }}`:       "x-y-",
		`{{ if gt .count 2 }}many{{ end }}`:        "many",
		`{{ "{{" }}literal}}`:                      "{{literal}}",
		`{{ dig "a" "none" .map }} {{ .count }}`:   "1 3",
		`no template, so { and }} stay as written`: "no template, so { and }} stay as written",
	} {
		value, problem := rendered(t, template)
		require.Empty(t, problem, template)
		require.Equal(t, want, value, template)
	}
}

func TestATemplateCannotAskForMuchOrForWhatChanges(t *testing.T) {
	for template, want := range map[string]string{
		`{{ repeat 20000 "x" }}`:        "a count is more than 10000",
		`{{ repeat -1 "x" }}`:           "a count is more than 10000",
		`{{ indent 20000 "x" }}`:        "a count is more than 10000",
		`{{ untilStep 0 100000000 1 }}`: "a count is more than 10000",
		`{{ untilStep 0 5 0 }}`:         "",
		`{{ env "HOME" }}`:              "function env is not available",
		`{{ randAlpha 5 }}`:             "function randAlpha is not available",
		`{{ uuidv4 }}`:                  "function uuidv4 is not available",
		`{{ getHostByName "a" }}`:       "function getHostByName is not available",
		`{{ template "x" }}`:            `template "x" not defined`,
	} {
		_, problem := rendered(t, template)
		require.Contains(t, problem, want, template)
		require.Equal(t, want == "", problem == "", template)
	}
}

func TestSelectorsAreThoseOfKubernetes(t *testing.T) {
	for selector, want := range map[string]string{
		`{}`:                                    "eu-1 eu-2 us-1 us-2",
		`{matchLabels: {zone: eu}}`:             "eu-1 eu-2",
		`{matchLabels: {zone: eu, stage: dev}}`: "eu-1",
		`{matchLabels: {none: ""}}`:             "",
		`{matchExpressions: [{key: stage, operator: In, values: [dev, staging]}]}`:            "eu-1 eu-2",
		`{matchExpressions: [{key: none, operator: NotIn, values: [a]}]}`:                     "eu-1 eu-2 us-1 us-2",
		`{matchExpressions: [{key: zone, operator: Exists}]}`:                                 "eu-1 eu-2 us-1 us-2",
		`{matchExpressions: [{key: zone, operator: DoesNotExist}]}`:                           "",
		`{matchExpressions: [{key: none, operator: In, values: [""]}]}`:                       "",
		`{matchLabels: {tidegate.dev/region: us-2, argocd.argoproj.io/secret-type: cluster}}`: "us-2",
	} {
		cat := load(t, map[string]string{"set.yaml": setOf("{{name}}", "goTemplate: false", "clusters: {selector: "+selector+"}")})
		require.Empty(t, cat.Problems, selector)
		var names []string
		for _, d := range cat.Deliveries {
			names = append(names, d.Name)
		}
		require.Equal(t, want, strings.Join(names, " "), selector)
	}
}
