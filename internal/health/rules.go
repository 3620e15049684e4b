package health

import (
	"errors"
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tidegate/tidegate/internal/gitops"
)

// Rules are the built-in rules with those of a catalog in front. The zero value has
// the built-in ones alone.
type Rules struct{ own map[schema.GroupKind]rule }

// rule is one of a catalog, ready to be evaluated.
type rule struct {
	degraded, suspended, healthy, progressing, message cel.Program
}

// costLimit bounds one expression on one object, in the units of CEL: a tenth of what
// Kubernetes allows a validation rule of a CustomResourceDefinition.
const costLimit = 1_000_000

// NewRules prepares the rules of a catalog. The error names the field that is wrong.
func NewRules(rules []gitops.HealthRule) (Rules, error) {
	out := Rules{own: map[schema.GroupKind]rule{}}
	if len(rules) == 0 {
		return out, nil
	}
	env, err := cel.NewEnv(cel.Variable("object", cel.MapType(cel.StringType, cel.DynType)), cel.OptionalTypes(), ext.Strings(), ext.Lists(), ext.Sets())
	if err != nil {
		return out, fmt.Errorf("make the environment of health rules: %w", err)
	}
	for _, r := range rules {
		prepared, err := prepare(env, r)
		if err != nil {
			return out, fmt.Errorf("health rule of %s %s: %w", r.Group, r.Kind, err)
		}
		out.own[schema.GroupKind{Group: r.Group, Kind: r.Kind}] = prepared
	}
	return out, nil
}

func prepare(env *cel.Env, r gitops.HealthRule) (out rule, err error) {
	if r.Healthy == "" {
		return out, errors.New("healthy is missing: nothing of this kind would ever be")
	}
	for _, e := range []struct {
		field, text string
		kind        *cel.Type
		into        *cel.Program
	}{
		{"degraded", r.Degraded, cel.BoolType, &out.degraded},
		{"suspended", r.Suspended, cel.BoolType, &out.suspended},
		{"healthy", r.Healthy, cel.BoolType, &out.healthy},
		{"progressing", r.Progressing, cel.BoolType, &out.progressing},
		{"message", r.Message, cel.StringType, &out.message},
	} {
		if e.text == "" {
			continue
		}
		if *e.into, err = compile(env, e.text, e.kind); err != nil {
			return out, fmt.Errorf("%s: %w", e.field, err)
		}
	}
	return out, nil
}

func compile(env *cel.Env, text string, kind *cel.Type) (cel.Program, error) {
	checked, issues := env.Compile(text)
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	if got := checked.OutputType(); !got.IsExactType(kind) && !got.IsExactType(cel.DynType) {
		return nil, fmt.Errorf("the expression is a %s; it must be a %s", got, kind)
	}
	return env.Program(checked, cel.CostLimit(costLimit), cel.InterruptCheckFrequency(100))
}

// Compute says how a live object is, and why. An object that is being deleted is
// Progressing.
func (r Rules) Compute(obj map[string]any) (gitops.HealthStatus, string) {
	if object(obj).text("metadata", "deletionTimestamp") != "" {
		return gitops.Progressing, "is being deleted"
	}
	return r.OfStatus(obj)
}

// OfStatus says how a live object is by its status, whether or not it is being
// deleted: of a hook that deletes itself, how it ended.
func (r Rules) OfStatus(obj map[string]any) (gitops.HealthStatus, string) {
	own, ok := r.own[(&unstructured.Unstructured{Object: obj}).GroupVersionKind().GroupKind()]
	if !ok {
		return builtIn(obj)
	}
	if o := object(obj); o.at("status", "observedGeneration") != nil && !o.observed() {
		v := o.unobserved()
		return v.status, v.message
	}
	return own.evaluate(obj)
}

// Has says whether the catalog has a rule for a kind.
func (r Rules) Has(gk schema.GroupKind) bool {
	_, ok := r.own[gk]
	return ok
}

// Tracked says whether a desired object's health has to be waited for. The
// others are healthy as soon as they exist, and need no watch.
func (r Rules) Tracked(obj map[string]any) bool {
	return r.Has((&unstructured.Unstructured{Object: obj}).GroupVersionKind().GroupKind()) || Tracked(obj)
}

func (r rule) evaluate(obj map[string]any) (gitops.HealthStatus, string) {
	message, _ := evaluate[string](r.message, obj)
	for _, e := range []struct {
		program cel.Program
		status  gitops.HealthStatus
	}{
		{r.degraded, gitops.Degraded}, {r.suspended, gitops.Suspended}, {r.healthy, gitops.Healthy}, {r.progressing, gitops.Progressing},
	} {
		if is, _ := evaluate[bool](e.program, obj); is {
			return e.status, message
		}
	}
	if message == "" {
		message = "is not healthy yet, by the catalog's rule for its kind"
	}
	return gitops.Progressing, message
}

// evaluate runs an expression on an object; false where it fails.
func evaluate[T any](program cel.Program, obj map[string]any) (value T, ok bool) {
	if program == nil {
		return value, false
	}
	result, _, err := program.Eval(map[string]any{"object": obj})
	if err != nil {
		return value, false
	}
	value, ok = result.Value().(T)
	return value, ok
}
