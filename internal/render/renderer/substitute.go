package renderer

import (
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/fluxcd/pkg/envsubst"
	"sigs.k8s.io/yaml"

	"github.com/tidegate/tidegate/internal/render"
)

// noSubstitution is a label or annotation of objects that stay as they are
// (https://fluxcd.io/flux/components/kustomize/kustomizations/#post-build-variable-substitution).
const (
	noSubstitution = "kustomize.toolkit.fluxcd.io/substitute"
	disabled       = "disabled"
)

var variableName = regexp.MustCompile(`^[_[:alpha:]][_[:alpha:][:digit:]]*$`)

// substitute puts values in place of ${NAME} in everything that was rendered, as
// Flux does: in the object's YAML, so that a value may become a number. ${NAME:=default}
// and the rest of Bash's notation are understood, $${NAME} is ${NAME}, and a name
// without a value is empty.
func substitute(rendered render.Result, values map[string]string) (result render.Result, err error) {
	if len(values) == 0 || len(rendered.Objects) == 0 {
		return rendered, nil
	}
	result = render.Result{Renderer: rendered.Renderer, Unstable: rendered.Unstable}
	for name := range values {
		if !variableName.MatchString(name) {
			return result, &render.Error{Kind: render.KindBuild, Message: fmt.Sprintf("substitution: %q is not a name that a variable can have", name)}
		}
	}
	var contents []json.RawMessage
	if err := json.Unmarshal(rendered.Objects, &contents); err != nil {
		return result, fmt.Errorf("decode what was rendered: %w", err)
	}
	var found objects
	for _, content := range contents {
		content, err := substituteIn(content, values)
		if err != nil {
			return result, err
		}
		decoded, err := decodeJSON(content)
		if err != nil {
			return result, err
		}
		if err := found.add(place{file: "what was rendered, after substitution"}, decoded); err != nil {
			return result, err
		}
	}
	return found.result(result)
}

func substituteIn(content []byte, values map[string]string) ([]byte, error) {
	var head struct {
		Kind     string `json:"kind"`
		Metadata struct {
			Name        string            `json:"name"`
			Labels      map[string]string `json:"labels"`
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(content, &head); err != nil {
		return nil, fmt.Errorf("decode what was rendered: %w", err)
	}
	if head.Metadata.Labels[noSubstitution] == disabled || head.Metadata.Annotations[noSubstitution] == disabled {
		return content, nil
	}
	fault := &render.Error{Kind: render.KindBuild}
	text, err := yaml.JSONToYAML(content)
	if err != nil {
		return nil, fmt.Errorf("encode what was rendered: %w", err)
	}
	replaced, err := envsubst.Eval(string(text), func(name string) (string, bool) {
		return values[name], true
	})
	if err != nil {
		fault.Message = fmt.Sprintf("substitution in %s %s: %v", head.Kind, head.Metadata.Name, err)
		return nil, fault
	}
	content, err = yaml.YAMLToJSON([]byte(replaced))
	if err != nil {
		fault.Message = fmt.Sprintf("%s %s is not YAML any more after substitution; quote what holds ${…}", head.Kind, head.Metadata.Name)
		return nil, fault
	}
	return content, nil
}
