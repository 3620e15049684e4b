package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/render"
)

// pluginCall says which plugin renders a source, if one does, and with what.
func (r *Renderer) pluginCall(ctx context.Context, t gitops.Target, s gitops.Source, tree string, env map[string]string) (*render.PluginCall, error) {
	named, hasOptions := gitops.Plugin{}, s.Directory != nil || s.Kustomize != nil || s.Helm != nil
	if s.Plugin != nil {
		named = *s.Plugin
	} else if hasOptions || !r.Engine.Discovers() {
		return nil, nil
	}
	list, err := pluginEnvironment(named, env)
	if err != nil {
		return nil, err
	}
	name, err := r.Engine.PluginOf(ctx, tree, s.Path, named.Name, list)
	switch {
	case err != nil:
		return nil, err
	case name == "" && s.Plugin == nil:
		return nil, nil
	case name == "":
		return nil, &render.Error{Kind: render.KindUnsupported, File: s.Path, Message: "the Application has options for a plugin, but names none, and none is for this folder; name one of render.plugins in the settings of the render worker"}
	}
	class, err := r.regionClass(ctx, t.Region)
	list = append(list, "KUBE_VERSION="+strings.TrimPrefix(class.KubeVersion, "v"), "KUBE_API_VERSIONS="+strings.Join(class.APIVersions, ","))
	slices.Sort(list)
	return &render.PluginCall{Name: name, Env: list}, err
}

// pluginEnvironment is what Argo CD tells a plugin: the build environment, what
// the Application sets (ARGOCD_ENV_*), and its parameters, as JSON and one by one.
func pluginEnvironment(p gitops.Plugin, env map[string]string) ([]string, error) {
	all := maps.Clone(env)
	for _, e := range p.Env {
		all["ARGOCD_ENV_"+e.Name] = expandText(e.Value, env)
	}
	if len(p.Parameters) > 0 {
		encoded, err := json.Marshal(p.Parameters)
		if err != nil {
			return nil, err
		}
		all["ARGOCD_APP_PARAMETERS"] = string(encoded)
	}
	for _, parameter := range p.Parameters {
		name := "PARAM_" + escapeName(parameter.Name)
		if parameter.String != nil {
			all[name] = *parameter.String
		}
		for i, value := range parameter.Array {
			all[name+"_"+strconv.Itoa(i)] = value
		}
		for key, value := range parameter.Map {
			all[name+"_"+escapeName(key)] = value
		}
	}
	list := make([]string, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, name+"="+all[name])
	}
	return list, nil
}

var notInNames = regexp.MustCompile(`[^A-Z0-9_]`)

// escapeName is how a parameter's name is written in that of a variable.
func escapeName(name string) string { return notInNames.ReplaceAllString(strings.ToUpper(name), "_") }

// pluginReads are what the manifests of a plugin depend on: what the Application
// says, else everything.
func pluginReads(s gitops.Source) []string {
	var reads []string
	for _, at := range s.GeneratePaths {
		base, _, isPattern := strings.Cut(at, "*")
		if isPattern { // the folder that it looks into
			base = base[:strings.LastIndex(base, "/")+1]
			at = cmp.Or(strings.TrimSuffix(base, "/"), ".")
		}
		reads = append(reads, at)
	}
	if len(reads) == 0 {
		return []string{"."}
	}
	slices.Sort(reads)
	return slices.Compact(reads)
}
