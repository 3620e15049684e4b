package activities

import (
	"os"
	"slices"
	"strings"

	"github.com/tidegate/tidegate/internal/gitops"
)

// environment is Argo CD's build environment of one source of a target, under
// Argo CD's names and under Tidegate's own.
func environment(t gitops.Target, s gitops.Source, commit string) map[string]string {
	const short8 = 8
	variables := map[string]string{
		"NAME": t.Name, "NAMESPACE": t.Namespace, "PROJECT_NAME": t.Project,
		"REVISION": commit, "REVISION_SHORT": gitops.ShortRevision(commit), "REVISION_SHORT_8": commit[:min(len(commit), short8)],
		"SOURCE_PATH": s.Path, "SOURCE_REPO_URL": s.RepoURL, "SOURCE_TARGET_REVISION": s.Revision,
	}
	env := map[string]string{"TIDEGATE_REGION": t.Region}
	for name, value := range variables {
		env["ARGOCD_APP_"+name], env["TIDEGATE_APP_"+name] = value, value
	}
	return env
}

// expand puts the build environment into a source's options where Argo CD does:
// $NAME and ${NAME} in value files, parameters, file parameters, Jsonnet's
// variables, images, and annotations that ask for it. A name that is not known is
// empty, $$ is a dollar sign. Only what is used is part of what identifies a
// render, since it is the expanded options that do.
func expand(s gitops.Source, env map[string]string) gitops.Source {
	text := func(value string) string { return expandText(value, env) }
	if s.Helm != nil {
		s.Helm = expandHelm(*s.Helm, text)
	}
	if s.Directory != nil && s.Directory.Jsonnet != nil {
		directory, jsonnet := *s.Directory, *s.Directory.Jsonnet
		jsonnet.ExtVars, jsonnet.TLAs = expandVars(jsonnet.ExtVars, text), expandVars(jsonnet.TLAs, text)
		directory.Jsonnet, s.Directory = &jsonnet, &directory
	}
	if s.Kustomize != nil {
		k := *s.Kustomize
		k.Images = slices.Clone(k.Images)
		for i, image := range k.Images {
			k.Images[i] = text(image)
		}
		if k.CommonAnnotationsEnvsubst {
			annotations := map[string]string{}
			for name, value := range k.CommonAnnotations {
				annotations[name] = text(value)
			}
			k.CommonAnnotations = annotations
		}
		s.Kustomize = &k
	}
	return s
}

func expandText(value string, env map[string]string) string {
	return os.Expand(value, func(name string) string {
		if name == "$" {
			return "$"
		}
		return env[name]
	})
}

func expandHelm(h gitops.Helm, text func(string) string) *gitops.Helm {
	h.ValueFiles, h.Parameters, h.FileParameters = slices.Clone(h.ValueFiles), slices.Clone(h.Parameters), slices.Clone(h.FileParameters)
	for i, file := range h.ValueFiles {
		h.ValueFiles[i] = expandFile(file, text)
	}
	for i, p := range h.Parameters {
		h.Parameters[i].Value = text(p.Value)
	}
	for i, p := range h.FileParameters {
		h.FileParameters[i].Path = expandFile(p.Path, text)
	}
	return &h
}

// expandFile leaves the name of another source as it is.
func expandFile(file string, text func(string) string) string {
	if name, isRef := gitops.RefOf(file); isRef {
		return "$" + name + text(strings.TrimPrefix(file, "$"+name))
	}
	return text(file)
}

func expandVars(vars []gitops.JsonnetVar, text func(string) string) []gitops.JsonnetVar {
	vars = slices.Clone(vars)
	for i, v := range vars {
		vars[i].Value = text(v.Value)
	}
	return vars
}
