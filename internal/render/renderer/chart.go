package renderer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	release "helm.sh/helm/v4/pkg/release/v1"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/render"
)

const chartFile = "Chart.yaml"

// chartFolder renders a chart as `helm template` does: as a first install, with
// nobody to ask what is in a cluster. Test hooks are left out, since Argo CD never
// runs them; other hooks stay what they are, with their annotations.
func chartFolder(ctx context.Context, t *tree, folder string, o gitops.Helm, r render.Release) (render.Result, error) {
	result := render.Result{Renderer: render.RendererHelm}
	if !t.isFile(path.Join(folder, chartFile)) {
		return result, &render.Error{Kind: render.KindPath, File: folder, Message: "the Application has options for Helm, but there is no Chart.yaml in this folder" + t.nearby(path.Join(folder, chartFile))}
	}
	c, err := loadChart(t, folder)
	if err != nil {
		return result, err
	}
	values, err := valuesOf(t, folder, o)
	if err != nil {
		return result, err
	}
	if len(t.missing()) > 0 {
		return result, errNeeds
	}
	if err := chartutil.ProcessDependencies(c, values); err != nil {
		return result, &render.Error{Kind: render.KindBuild, File: path.Join(folder, chartFile), Message: "its dependencies: " + err.Error()}
	}
	calls := recorder{}
	top, err := topOf(folder, c, values, o, r)
	if err != nil {
		return result, err
	}
	files, err := engine.Engine{CustomTemplateFuncs: calls.functions()}.RenderWithContext(ctx, c, top)
	result.Unstable = calls.places(folder, c)
	if err != nil {
		return result, explainTemplate(folder, c, err)
	}
	found := objects{}
	if !o.SkipCRDs {
		err = addCRDs(&found, folder, c)
	}
	if err == nil {
		err = addRendered(&found, folder, c, files)
	}
	if err != nil {
		return result, err
	}
	return found.result(result)
}

// releaseOf is where a chart goes, with an Application's options over what its
// region says.
func releaseOf(o gitops.Helm, r render.Release) render.Release {
	r.Name = orElse(o.ReleaseName, r.Name)
	r.Namespace = orElse(o.Namespace, r.Namespace)
	r.KubeVersion = orElse(o.KubeVersion, r.KubeVersion)
	if len(o.APIVersions) > 0 {
		r.APIVersions = o.APIVersions
	}
	return r
}

// topOf is what the templates see.
func topOf(folder string, c *chart.Chart, values map[string]any, o gitops.Helm, r render.Release) (common.Values, error) {
	r = releaseOf(o, r)
	fault := &render.Error{Kind: render.KindBuild, File: path.Join(folder, chartFile)}
	capabilities, err := capabilitiesOf(r)
	if err != nil {
		fault.Message = err.Error()
		return nil, fault
	}
	if wanted := c.Metadata.KubeVersion; wanted != "" && !chartutil.IsCompatibleRange(wanted, capabilities.KubeVersion.String()) {
		fault.Message = fmt.Sprintf("the chart wants Kubernetes %s, and it is rendered for %s", wanted, capabilities.KubeVersion.Version)
		return nil, fault
	}
	options := common.ReleaseOptions{Name: r.Name, Namespace: r.Namespace, Revision: 1, IsInstall: true}
	top, err := util.ToRenderValuesWithSchemaValidation(c, values, options, capabilities, o.SkipSchemaValidation)
	if err != nil {
		_, reason, _ := strings.Cut(err.Error(), "\n") // the first line says only that they don't fit
		fault.Message = "its values do not fit the schema: " + strings.Join(strings.Fields(reason), " ")
		return nil, fault
	}
	return top, nil
}

func capabilitiesOf(r render.Release) (*common.Capabilities, error) {
	capabilities := common.DefaultCapabilities.Copy()
	if r.KubeVersion != "" {
		version, err := common.ParseKubeVersion(r.KubeVersion)
		if err != nil {
			return nil, fmt.Errorf("helm.kubeVersion: %q is no version of Kubernetes: %w", r.KubeVersion, err)
		}
		capabilities.KubeVersion = *version
	}
	capabilities.APIVersions = slices.Concat(capabilities.APIVersions, r.APIVersions)
	return capabilities, nil
}

// addCRDs adds what is in the folders crds of the chart and its dependencies.
func addCRDs(found *objects, folder string, c *chart.Chart) error {
	for _, crd := range c.CRDObjects() {
		if err := found.addFile(templatePlace(folder, c, crd.Filename), crd.File.Data); err != nil {
			return err
		}
	}
	return nil
}

// addRendered adds what the templates have rendered to.
func addRendered(found *objects, folder string, c *chart.Chart, files map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		base := path.Base(name)
		if strings.HasPrefix(base, "_") || strings.HasSuffix(base, "NOTES.txt") {
			continue
		}
		documents := releaseutil.SplitManifests(files[name])
		keys := slices.SortedFunc(maps.Keys(documents), compareManifests)
		for _, key := range keys {
			if err := addManifest(found, templatePlace(folder, c, name), documents[key]); err != nil {
				return err
			}
		}
	}
	return nil
}

func compareManifests(a, b string) int {
	order := releaseutil.BySplitManifestsOrder{a, b}
	switch {
	case order.Less(0, 1):
		return -1
	case order.Less(1, 0):
		return 1
	default:
		return 0
	}
}

func addManifest(found *objects, file, text string) error {
	d := document{line: 1, text: []byte(text)}
	if d.isBlank() {
		return nil
	}
	encoded, err := d.decode(file)
	if err != nil {
		return rendered(err)
	}
	content, err := decodeJSON(encoded)
	if err != nil || isTestHook(content) {
		return err
	}
	return rendered(found.add(place{file: file}, content))
}

// rendered says that a fault is in what a template rendered to: its line is not
// one of the template.
func rendered(err error) error {
	var fault *render.Error
	if !errors.As(err, &fault) {
		return err
	}
	message := "it renders to what cannot be used: " + fault.Message
	if fault.Line > 0 {
		message = fmt.Sprintf("what it renders to, in line %d: %s", fault.Line, fault.Message)
	}
	return &render.Error{Kind: fault.Kind, File: fault.File, Message: message}
}

// isTestHook says whether an object is for `helm test` only.
func isTestHook(content any) bool {
	m, _ := content.(map[string]any)
	metadata, _ := m["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	hooks, _ := annotations[release.HookAnnotation].(string)
	return hooks != "" && !slices.ContainsFunc(strings.Split(hooks, ","), func(hook string) bool {
		hook = strings.TrimSpace(hook)
		return hook != release.HookTest.String() && hook != "test-success" && hook != "test-failure"
	})
}

// templatePlace is where the file is in the repository that Helm calls
// chart/charts/dependency/templates/x.yaml.
func templatePlace(folder string, c *chart.Chart, name string) string {
	return path.Join(folder, strings.TrimPrefix(name, c.Name()+"/"))
}
