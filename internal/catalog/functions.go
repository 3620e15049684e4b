package catalog

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"
)

// unavailable are functions of sprig that a catalog cannot have: the same files
// must always give the same catalog, and reading it must not take long.
var unavailable = []string{
	"ago", "bcrypt", "buildCustomCert", "date", "dateInZone", "dateModify", "date_in_zone", "date_modify", "decryptAES", "derivePassword",
	"durationRound", "encryptAES", "env", "expandenv", "genCA", "genCAWithKey", "genPrivateKey", "genSelfSignedCert",
	"genSelfSignedCertWithKey", "genSignedCert", "genSignedCertWithKey", "getHostByName", "htmlDate", "htmlDateInZone", "htpasswd",
	"mustDateModify", "mustToDate", "must_date_modify", "now", "randAlpha", "randAlphaNum", "randAscii", "randBytes", "randInt",
	"randNumeric", "seq", "shuffle", "slugify", "toDate", "uuidv4",
}

// maxCount is how often a template may repeat something in one call.
const maxCount = 10_000

var errTooMany = fmt.Errorf("a count is more than %d", maxCount)

// templateFunctions are what Argo CD gives its Go templates: sprig without what
// is unavailable, with counts limited and maps in order.
var templateFunctions = functions()

func functions() template.FuncMap {
	all := sprig.TxtFuncMap()
	for _, name := range unavailable {
		delete(all, name)
	}
	maps.Copy(all, template.FuncMap{
		"normalize":     normalize,
		"toYaml":        toYAML,
		"fromYaml":      fromYAML[map[string]any],
		"fromYamlArray": fromYAML[[]any],
		"keys":          sortedKeys,
		"values":        valuesByKey,
		"repeat":        repeat,
		"indent":        indent,
		"nindent":       func(n int, s string) (string, error) { s, err := indent(n, s); return "\n" + s, err },
		"until":         func(n int) ([]int, error) { return untilStep(0, n, sign(n)) },
		"untilStep":     untilStep,
	})
	return all
}

func toYAML(v any) (string, error) {
	data, err := yaml.Marshal(v)
	return strings.TrimSuffix(string(data), "\n"), err
}

func fromYAML[T any](text string) (T, error) {
	var v T
	err := yaml.Unmarshal([]byte(text), &v)
	return v, err
}

func sortedKeys(dicts ...map[string]any) []string {
	var keys []string
	for _, d := range dicts {
		keys = append(keys, slices.Sorted(maps.Keys(d))...)
	}
	return keys
}

func valuesByKey(dict map[string]any) []any {
	var values []any
	for _, key := range slices.Sorted(maps.Keys(dict)) {
		values = append(values, dict[key])
	}
	return values
}

func repeat(count int, s string) (string, error) {
	if count < 0 || count > maxCount || count*len(s) > maxRendered {
		return "", errTooMany
	}
	return strings.Repeat(s, count), nil
}

func indent(spaces int, s string) (string, error) {
	pad, err := repeat(spaces, " ")
	if err != nil || len(pad)*strings.Count(s, "\n") > maxRendered {
		return "", errors.Join(errTooMany, err)
	}
	return pad + strings.ReplaceAll(s, "\n", "\n"+pad), nil
}

func untilStep(start, stop, step int) ([]int, error) {
	var numbers []int
	for n := start; step > 0 && n < stop || step < 0 && n > stop; n += step {
		if len(numbers) == maxCount {
			return nil, errTooMany
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

func sign(n int) int {
	if n < 0 {
		return -1
	}
	return 1
}
