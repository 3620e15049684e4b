package catalog

import (
	"path"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tidegate/tidegate/internal/gitops"
)

// source is the part of spec.source, and of each of spec.sources, that is supported.
type source struct {
	RepoURL        string     `yaml:"repoURL"`
	Path           string     `yaml:"path"`
	TargetRevision string     `yaml:"targetRevision"`
	Directory      *directory `yaml:"directory"`
	Kustomize      *kustomize `yaml:"kustomize"`
	Helm           *helm      `yaml:"helm"`
	Plugin         *plugin    `yaml:"plugin"`
	Chart          string     `yaml:"chart"`
	Ref            string     `yaml:"ref"`
}

type directory struct {
	Recurse bool     `yaml:"recurse"`
	Include string   `yaml:"include"`
	Exclude string   `yaml:"exclude"`
	Jsonnet *jsonnet `yaml:"jsonnet"`
}

type jsonnet struct {
	ExtVars []jsonnetVar `yaml:"extVars"`
	TLAs    []jsonnetVar `yaml:"tlas"`
	Libs    []string     `yaml:"libs"`
}

type jsonnetVar struct {
	Name  string `yaml:"name"`
	Value string `yaml:"value"`
	Code  bool   `yaml:"code"`
}

// options are those of a plain folder; all zero when nothing is asked for.
func (d directory) options() *gitops.Directory {
	o := gitops.Directory{Recurse: d.Recurse, Include: d.Include, Exclude: d.Exclude}
	if j := d.Jsonnet; j == nil || len(j.ExtVars)+len(j.TLAs)+len(j.Libs) == 0 {
		return &o // jsonnet: {} is what Argo CD's UI writes
	}
	o.Jsonnet = &gitops.Jsonnet{Libs: d.Jsonnet.Libs}
	for _, v := range d.Jsonnet.ExtVars {
		o.Jsonnet.ExtVars = append(o.Jsonnet.ExtVars, gitops.JsonnetVar(v))
	}
	for _, v := range d.Jsonnet.TLAs {
		o.Jsonnet.TLAs = append(o.Jsonnet.TLAs, gitops.JsonnetVar(v))
	}
	return &o
}

// sourcePlace is where a source is written: its node, and the path of that.
type sourcePlace struct {
	node  *yaml.Node
	field string // spec.source or spec.sources[i]
}

func (p sourcePlace) at(field string) *yaml.Node { return near(p.node, field) }

// readSource says where an Application's manifests come from.
func (l *loader) readSource(p sourcePlace, s source, out reporter) gitops.Source {
	read := gitops.Source{RepoURL: s.RepoURL, Chart: s.Chart}
	var identity string
	var err error
	if l.isChart(s) {
		read.Revision = nonEmpty(s.TargetRevision, anyVersion)
		identity, read.Chart, err = chartIdentity(s)
	} else {
		read.Revision = nonEmpty(s.TargetRevision, defaultRevision)
		identity, err = l.options.Identity(s.RepoURL)
	}
	switch {
	case s.RepoURL == "":
		out.at(p.at("repoURL"), p.field+".repoURL", "%s.repoURL is missing", p.field)
	case err != nil:
		out.at(p.at("repoURL"), p.field+".repoURL", "%s", err)
	default:
		read.Repository = identity
	}
	var ok bool
	if read.Path, ok = cleanPath(s.Path); !ok {
		out.at(p.at("path"), p.field+".path", "%q is not a folder of the repository; write it without a leading / and without ..", s.Path)
	}
	if s.Chart != "" && read.Path != "." {
		out.at(p.at("path"), p.field+".path", "a source with a chart has no path; remove one of them")
	}
	l.readOptions(p, s, &read, out)
	return read
}

func (l *loader) isChart(s source) bool { return s.Chart != "" || gitops.IsOCI(s.RepoURL) }

func chartIdentity(s source) (identity, chart string, err error) {
	c, err := gitops.ParseChartSource(s.RepoURL, s.Chart)
	return c.Identity, c.Chart, err
}

// readOptions takes the options that change something; those of one kind at most.
func (l *loader) readOptions(p sourcePlace, s source, read *gitops.Source, out reporter) {
	var kinds []string
	if d := s.Directory; d != nil && *d.options() != (gitops.Directory{}) {
		read.Directory, kinds = d.options(), append(kinds, "directory")
	}
	if h := s.Helm; h != nil {
		options, err := h.options()
		if err != nil {
			out.at(p.at("helm"), p.field+".helm", "%s.helm.%s", p.field, err)
		}
		if !options.IsZero() {
			read.Helm, kinds = options, append(kinds, "helm")
		}
	}
	if k := s.Kustomize; k != nil && !k.options().IsZero() {
		read.Kustomize, kinds = k.options(), append(kinds, "kustomize")
	}
	if s.Plugin != nil {
		read.Plugin, kinds = s.Plugin.options(), append(kinds, "plugin")
	}
	if len(kinds) > 1 {
		out.at(p.at(kinds[0]), p.field, "the source has options for %s; keep one", strings.Join(kinds, " and "))
	}
}

// cleanPath is a path within a repository, in its shortest form.
func cleanPath(p string) (string, bool) {
	clean := path.Clean(nonEmpty(p, "."))
	outside := path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../") || strings.ContainsAny(clean, "\\\x00")
	return clean, !outside
}
