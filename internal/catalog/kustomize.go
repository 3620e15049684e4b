package catalog

import (
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/tidegate/tidegate/internal/gitops"
)

// kustomize is the part of spec.source.kustomize that is supported.
type kustomize struct {
	NamePrefix              string            `yaml:"namePrefix"`
	NameSuffix              string            `yaml:"nameSuffix"`
	Images                  []string          `yaml:"images"`
	Namespace               string            `yaml:"namespace"`
	Replicas                []replicas        `yaml:"replicas"`
	Patches                 []patch           `yaml:"patches"`
	Components              []string          `yaml:"components"`
	IgnoreMissingComponents bool              `yaml:"ignoreMissingComponents"`
	CommonLabels            map[string]string `yaml:"commonLabels"`
	LabelWithoutSelector    bool              `yaml:"labelWithoutSelector"`
	LabelIncludeTemplates   bool              `yaml:"labelIncludeTemplates"`
	ForceCommonLabels       bool              `yaml:"forceCommonLabels"`
	CommonAnnotations       map[string]string `yaml:"commonAnnotations"`
	ForceCommonAnnotations  bool              `yaml:"forceCommonAnnotations"`

	CommonAnnotationsEnvsubst bool     `yaml:"commonAnnotationsEnvsubst"`
	KubeVersion               string   `yaml:"kubeVersion"`
	APIVersions               []string `yaml:"apiVersions"`
}

type replicas struct {
	Name  string `yaml:"name"`
	Count number `yaml:"count"`
}

// number is written as one, or as a string of digits, which a template makes.
type number int64

// UnmarshalYAML implements yaml.Unmarshaler.
func (c *number) UnmarshalYAML(n *yaml.Node) error {
	value, err := strconv.ParseInt(n.Value, 10, 32)
	*c = number(value)
	return err
}

type patch struct {
	Path    string       `yaml:"path"`
	Patch   string       `yaml:"patch"`
	Target  *patchTarget `yaml:"target"`
	Options struct {
		AllowNameChange bool `yaml:"allowNameChange"`
		AllowKindChange bool `yaml:"allowKindChange"`
	} `yaml:"options"`
}

type patchTarget struct {
	Group              string `yaml:"group"`
	Version            string `yaml:"version"`
	Kind               string `yaml:"kind"`
	Name               string `yaml:"name"`
	Namespace          string `yaml:"namespace"`
	LabelSelector      string `yaml:"labelSelector"`
	AnnotationSelector string `yaml:"annotationSelector"`
}

func (k kustomize) options() *gitops.Kustomize {
	o := gitops.Kustomize{
		NamePrefix: k.NamePrefix, NameSuffix: k.NameSuffix, Images: k.Images, Namespace: k.Namespace,
		Components: k.Components, IgnoreMissingComponents: k.IgnoreMissingComponents,
		CommonLabels: k.CommonLabels, LabelWithoutSelector: k.LabelWithoutSelector,
		LabelIncludeTemplates: k.LabelIncludeTemplates, ForceCommonLabels: k.ForceCommonLabels,
		CommonAnnotations: k.CommonAnnotations, ForceCommonAnnotations: k.ForceCommonAnnotations, CommonAnnotationsEnvsubst: k.CommonAnnotationsEnvsubst,
		KubeVersion: k.KubeVersion, APIVersions: k.APIVersions,
	}
	for _, r := range k.Replicas {
		o.Replicas = append(o.Replicas, gitops.KustomizeReplicas{Name: r.Name, Count: int64(r.Count)})
	}
	for _, p := range k.Patches {
		o.Patches = append(o.Patches, gitops.KustomizePatch{
			Path: p.Path, Patch: p.Patch, Target: (*gitops.KustomizePatchTarget)(p.Target),
			AllowNameChange: p.Options.AllowNameChange, AllowKindChange: p.Options.AllowKindChange,
		})
	}
	return &o
}
