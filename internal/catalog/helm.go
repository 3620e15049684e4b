package catalog

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tidegate/tidegate/internal/gitops"
)

// helm is the part of spec.source.helm that is supported.
type helm struct {
	ReleaseName             string              `yaml:"releaseName"`
	ValueFiles              []string            `yaml:"valueFiles"`
	IgnoreMissingValueFiles bool                `yaml:"ignoreMissingValueFiles"`
	Values                  string              `yaml:"values"`
	ValuesObject            yaml.Node           `yaml:"valuesObject"`
	Parameters              []helmParameter     `yaml:"parameters"`
	FileParameters          []helmFileParameter `yaml:"fileParameters"`
	SkipCRDs                bool                `yaml:"skipCrds"`
	SkipSchemaValidation    bool                `yaml:"skipSchemaValidation"`
	Namespace               string              `yaml:"namespace"`
	KubeVersion             string              `yaml:"kubeVersion"`
	APIVersions             []string            `yaml:"apiVersions"`
}

type helmParameter struct {
	Name        string `yaml:"name"`
	Value       string `yaml:"value"`
	ForceString bool   `yaml:"forceString"`
}

type helmFileParameter struct {
	Name string `yaml:"name"`
	Path string `yaml:"path"`
}

// options are those of a chart. Where there is a valuesObject, values count for
// nothing, as in Argo CD.
func (h helm) options() (*gitops.Helm, error) {
	o := gitops.Helm{
		ReleaseName: h.ReleaseName, ValueFiles: h.ValueFiles, IgnoreMissingValueFiles: h.IgnoreMissingValueFiles, Values: h.Values,
		SkipCRDs: h.SkipCRDs, SkipSchemaValidation: h.SkipSchemaValidation,
		Namespace: h.Namespace, KubeVersion: h.KubeVersion, APIVersions: h.APIVersions,
	}
	var values any
	if err := yaml.Unmarshal([]byte(h.Values), &values); err != nil {
		return &o, fmt.Errorf("values: it is not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if _, mapping := values.(map[string]any); values != nil && !mapping {
		return &o, errors.New("values: it must be a mapping")
	}
	if n := h.ValuesObject; !n.IsZero() && !isNull(&n) {
		if n.Kind != yaml.MappingNode {
			return &o, errors.New("valuesObject: it must be a mapping")
		}
		text, err := yaml.Marshal(&n)
		if err != nil {
			return &o, fmt.Errorf("valuesObject: %w", err)
		}
		o.Values = string(text)
	}
	for i, p := range h.Parameters {
		if p.Name == "" {
			return &o, fmt.Errorf("parameters[%d] has no name", i)
		}
		o.Parameters = append(o.Parameters, gitops.HelmParameter(p))
	}
	for i, p := range h.FileParameters {
		if p.Name == "" || p.Path == "" {
			return &o, fmt.Errorf("fileParameters[%d] must have a name and a path", i)
		}
		o.FileParameters = append(o.FileParameters, gitops.HelmFileParameter(p))
	}
	return &o, nil
}
