package renderer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"sigs.k8s.io/kustomize/api/types"
	syaml "sigs.k8s.io/yaml"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/render"
)

// inflate puts files with what they render to in place of a kustomization's
// helmCharts, which Kustomize itself would run the program helm for. It says
// whether it has changed the kustomization.
func (w *walker) inflate(file string, root *yaml.Node) (changed bool, err error) {
	if node := child(root, "helmChartInflationGenerator"); node != nil {
		return false, &render.Error{Kind: render.KindUnsupported, File: file, Line: node.Line, Message: "helmChartInflationGenerator is not supported; write it as helmCharts"}
	}
	entries := child(root, "helmCharts")
	if entries == nil {
		return false, nil
	}
	home := "charts"
	if node := grandchild(root, "helmGlobals", "chartHome"); node != nil && node.Value != "" {
		home = node.Value
	}
	var names []string
	for i, entry := range list(entries) {
		text, err := w.chart(file, home, entry)
		if err != nil {
			return false, err
		}
		name := fmt.Sprintf(".helm-chart-%d.yaml", i)
		w.made[path.Join(path.Dir(file), name)] = text
		names = append(names, name)
	}
	remove(root, "helmCharts", "helmGlobals")
	addResources(root, names)
	return true, nil
}

// chart renders one entry of helmCharts. It is empty while the chart is not there.
func (w *walker) chart(file, home string, entry *yaml.Node) ([]byte, error) {
	fault := &render.Error{Kind: render.KindParse, File: file, Line: entry.Line}
	var c types.HelmChart
	text, err := yaml.Marshal(entry)
	if err == nil {
		err = syaml.UnmarshalStrict(text, &c)
	}
	if err != nil {
		_, reason, _ := strings.Cut(err.Error(), "json: ")
		fault.Message = "helmCharts: " + orElse(reason, "it is not of the form that Kustomize has for it")
		return nil, fault
	}
	folder, err := w.chartFolder(file, home, c)
	if err != nil || folder == "" {
		return nil, err
	}
	options, err := w.chartOptions(file, entry.Line, c)
	if err != nil {
		return nil, err
	}
	result, err := chartFolder(w.ctx, w.tree, folder, options, render.Release{Name: "release-name", Namespace: "default"})
	if err != nil {
		return nil, err
	}
	return documentsOf(result.Objects, c.SkipHooks)
}

// chartFolder finds a chart in the kustomization's folder of charts, as `helm
// pull --untar` leaves it there, or asks for it.
func (w *walker) chartFolder(file, home string, c types.HelmChart) (string, error) {
	folder := path.Join(path.Dir(file), home)
	for _, place := range []string{path.Join(folder, c.Name+"-"+c.Version, c.Name), path.Join(folder, c.Name)} {
		if w.tree.isFile(path.Join(place, chartFile)) {
			return place, nil
		}
	}
	if c.Repo == "" {
		return "", &render.Error{Kind: render.KindPath, File: file, Message: fmt.Sprintf("helmCharts names the chart %s, which is not in the folder %s, and says no repo that has it", c.Name, folder)}
	}
	if err := checkUser(c.Repo); err != nil {
		return "", &render.Error{Kind: render.KindRemote, File: file, Message: "helmCharts: repo: " + err.Error()}
	}
	need := chartNeed(c.Repo, c.Name, c.Version)
	if w.tree.need(need) == nil {
		return "", nil
	}
	return path.Join(path.Dir(file), need.Name()), nil
}

// chartNeed asks for a chart; any version will do when none is named.
func chartNeed(repository, name, version string) gitops.Need {
	if version == "" {
		version = "*"
	}
	return gitops.Need{Kind: gitops.NeedChart, URL: strings.TrimSuffix(repository, "/"), Chart: name, Revision: version}
}

func (w *walker) chartOptions(file string, line int, c types.HelmChart) (gitops.Helm, error) {
	o := gitops.Helm{
		ReleaseName: c.ReleaseName, Namespace: c.Namespace, SkipCRDs: !c.IncludeCRDs,
		KubeVersion: orElse(c.KubeVersion, w.kubeVersion), APIVersions: slices.Concat(w.apiVersions, c.ApiVersions),
	}
	var files []string
	for _, name := range append([]string{c.ValuesFile}, c.AdditionalValuesFiles...) {
		switch {
		case name == "":
		case strings.Contains(name, "://"):
			files = append(files, name)
		default:
			files = append(files, "/"+path.Join(path.Dir(file), name))
		}
	}
	inline, err := syaml.Marshal(c.ValuesInline)
	if err != nil || len(c.ValuesInline) == 0 {
		o.ValueFiles = files
		return o, err
	}
	o.Values = string(inline)
	switch c.ValuesMerge {
	case "", "override":
		o.ValueFiles = files
	case "replace":
	case "merge":
		over, err := valuesOf(w.tree, path.Dir(file), gitops.Helm{ValueFiles: files})
		if err != nil {
			return o, err
		}
		merged, err := syaml.Marshal(loader.MergeMaps(c.ValuesInline, over))
		o.Values = string(merged)
		return o, err
	default:
		return o, &render.Error{Kind: render.KindBuild, File: file, Line: line, Message: fmt.Sprintf("helmCharts: valuesMerge: %q; it is override, merge or replace", c.ValuesMerge)}
	}
	return o, nil
}

// documentsOf writes a list of objects as documents of one file.
func documentsOf(list []byte, skipHooks bool) ([]byte, error) {
	var objects []json.RawMessage
	if err := json.Unmarshal(list, &objects); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	for _, object := range objects {
		if skipHooks && isHook(object) {
			continue
		}
		b.WriteString("---\n")
		b.Write(object)
		b.WriteByte('\n')
	}
	return b.Bytes(), nil
}

func isHook(object []byte) bool {
	var head struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	return json.Unmarshal(object, &head) == nil && head.Metadata.Annotations["helm.sh/hook"] != ""
}

func grandchild(node *yaml.Node, key, inner string) *yaml.Node {
	if found := child(node, key); found != nil {
		return child(found, inner)
	}
	return nil
}

// remove takes keys out of a mapping.
func remove(node *yaml.Node, keys ...string) {
	var kept []*yaml.Node
	for i := 0; i+1 < len(node.Content); i += 2 {
		if !slices.Contains(keys, node.Content[i].Value) {
			kept = append(kept, node.Content[i], node.Content[i+1])
		}
	}
	node.Content = kept
}

// addResources adds files to a kustomization.
func addResources(root *yaml.Node, names []string) {
	resources := child(root, "resources")
	if resources == nil || resources.Kind != yaml.SequenceNode {
		resources = &yaml.Node{Kind: yaml.SequenceNode}
		remove(root, "resources")
		root.Content = append(root.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "resources"}, resources)
	}
	for _, name := range names {
		resources.Content = append(resources.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: name})
	}
}
