package catalog

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tidegate/tidegate/internal/diff"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/manifest"
)

const (
	defaultProject  = "default"
	defaultRevision = "HEAD"

	resourcesFinalizer = "resources-finalizer.argocd.argoproj.io" // and its /background, /foreground forms
	skipReconcile      = "argocd.argoproj.io/skip-reconcile"
)

var (
	objectName    = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)
	namespaceName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
)

// application is the part of Argo CD's Application that is supported.
type application struct {
	Metadata objectMeta `yaml:"metadata"`
	Spec     struct {
		Project     string      `yaml:"project"`
		Source      *source     `yaml:"source"`
		Sources     []source    `yaml:"sources"`
		Destination destination `yaml:"destination"`
		SyncPolicy  syncPolicy  `yaml:"syncPolicy"`
		Ignore      []struct {
			Group                 string   `yaml:"group"`
			Kind                  string   `yaml:"kind"`
			Name                  string   `yaml:"name"`
			Namespace             string   `yaml:"namespace"`
			JSONPointers          []string `yaml:"jsonPointers"`
			JQPathExpressions     []string `yaml:"jqPathExpressions"`
			ManagedFieldsManagers []string `yaml:"managedFieldsManagers"`
		} `yaml:"ignoreDifferences"`
	} `yaml:"spec"`
}

type objectMeta struct {
	Name        string            `yaml:"name"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
	Finalizers  []string          `yaml:"finalizers"`
}

type destination struct {
	Name      string `yaml:"name"`
	Server    string `yaml:"server"`
	Namespace string `yaml:"namespace"`
}

// candidate is a target that is not in a Delivery yet, and where it came from.
type candidate struct {
	gitops.Target
	set  string // the ApplicationSet that made it, if any
	file string
	line int
}

func (c candidate) place() string { return fmt.Sprintf("%s:%d", c.file, c.line) }

// readApplication turns an Application's node, whose fields are checked, into a
// target.
func (l *loader) readApplication(n *yaml.Node, set string, out reporter) (candidate, bool) {
	before := out.count()
	var app application
	if !decodeInto(n, &app, out) {
		return candidate{}, false
	}
	t := gitops.Target{
		Name: app.Metadata.Name, Project: nonEmpty(app.Spec.Project, defaultProject),
		Namespace: app.Spec.Destination.Namespace, Labels: app.Metadata.Labels,
	}
	checkName(n, t.Name, "metadata.name", out)
	checkName(n, t.Project, "spec.project", out)
	if t.Namespace != "" && !namespaceName.MatchString(t.Namespace) {
		out.at(near(n, "spec", "destination", "namespace"), "spec.destination.namespace", "%q is no name that a namespace can have", t.Namespace)
	}
	if app.Metadata.Annotations[skipReconcile] == "true" {
		out.at(near(n, "metadata", "annotations", skipReconcile), "metadata.annotations", "%s", notYet(skipReconcile, ""))
	}
	for _, f := range app.Metadata.Finalizers {
		t.Finalizer = t.Finalizer || f == resourcesFinalizer || strings.HasPrefix(f, resourcesFinalizer+"/")
	}
	t.Source, t.More = l.readSources(n, app.Spec.Source, app.Spec.Sources, out)
	t.Substitute = readSubstitute(n, app.Metadata.Annotations[substituteAnnotation], out)
	readPluginPaths(n, app.Metadata.Annotations[generatePaths], &t, out)
	for _, r := range app.Spec.Ignore {
		t.Ignore = append(t.Ignore, gitops.IgnoreRule(r))
	}
	checkIgnore(n, t.Ignore, out)
	t.Preflight = readPreflight(n, app.Metadata.Annotations[preflightAnnotation], out)
	t.Adopt = readFlag(n, app.Metadata.Annotations, manifest.AnnotationAdopt, out)
	t.RenamedFrom = app.Metadata.Annotations[renamedAnnotation]
	if err := manifest.CheckCompareOptions(app.Metadata.Annotations[compareAnnotation]); err != nil {
		out.at(near(n, "metadata", "annotations", compareAnnotation), "metadata.annotations", "%s: %s", compareAnnotation, err)
	}
	t.Region = l.readDestination(n, app.Spec.Destination, out)
	t.SyncPolicy = app.Spec.SyncPolicy.read(near(n, "spec", "syncPolicy"), out)
	return candidate{Target: t, set: set, file: out.file, line: n.Line}, out.count() == before
}

// renamedAnnotation names the Application that this one was called before.
const renamedAnnotation = "tidegate.dev/renamed-from"

// compareAnnotation is Argo CD's for how it compares.
const compareAnnotation = "argocd.argoproj.io/compare-options"

// preflightAnnotation says when a plan is tried out: auto, always or never.
const preflightAnnotation = "tidegate.dev/preflight"

func readPreflight(n *yaml.Node, text string, out reporter) gitops.Preflight {
	switch p := gitops.Preflight(text); p {
	case gitops.PreflightAlways, gitops.PreflightNever:
		return p
	case gitops.PreflightAuto, "auto":
	default:
		out.at(near(n, "metadata", "annotations", preflightAnnotation), "metadata.annotations", "%s is %q; it is auto, always or never", preflightAnnotation, text)
	}
	return gitops.PreflightAuto
}

// checkIgnore looks whether all rules can be understood.
func checkIgnore(n *yaml.Node, rules []gitops.IgnoreRule, out reporter) {
	nodes := near(n, "spec", "ignoreDifferences").Content
	for i, r := range rules {
		if r.Kind == "" {
			out.at(nodes[i], "spec.ignoreDifferences", "the rule names no kind; * is every one")
		}
		if _, err := diff.NewIgnore([]gitops.IgnoreRule{r}); err != nil {
			out.at(nodes[i], "spec.ignoreDifferences", "%s", err)
		}
	}
}

// readFlag reads an annotation that is true or false, in quotes.
func readFlag(n *yaml.Node, annotations map[string]string, name string, out reporter) bool {
	text, there := annotations[name]
	value, err := strconv.ParseBool(text)
	if there && err != nil {
		out.at(near(n, "metadata", "annotations", name), "metadata.annotations", "%s is %q; it is true or false, in quotes", name, text)
	}
	return value
}

// substituteAnnotation is the one with the values of ${NAME} in what is rendered: a
// mapping, in YAML.
const substituteAnnotation = "tidegate.dev/substitute"

func readSubstitute(n *yaml.Node, text string, out reporter) map[string]string {
	var values map[string]string
	if err := yaml.Unmarshal([]byte(text), &values); err != nil {
		out.at(near(n, "metadata", "annotations", substituteAnnotation), "metadata.annotations", "%s must be a mapping of names to strings, in YAML", substituteAnnotation)
	}
	return values
}

// readPluginPaths notes what the manifests of plugins depend on. What others read
// is known anyway.
func readPluginPaths(n *yaml.Node, text string, t *gitops.Target, out reporter) {
	note := func(s *gitops.Source) {
		var wrong string
		if s.GeneratePaths, wrong = readGeneratePaths(text, s.Path); wrong != "" {
			out.at(near(n, "metadata", "annotations", generatePaths), "metadata.annotations", "%s: %q leads out of the repository", generatePaths, wrong)
		}
	}
	note(&t.Source)
	for i := range t.More {
		note(&t.More[i])
	}
}

func checkName(n *yaml.Node, name, field string, out reporter) {
	at := near(n, strings.Split(field, ".")...)
	switch {
	case name == "":
		out.at(at, field, "%s is missing", field)
	case !objectName.MatchString(name):
		out.at(at, field, "%q is no name; it must have lower-case letters, digits, - and . only", name)
	}
}

// readDestination finds the region that an Application goes to.
func (l *loader) readDestination(n *yaml.Node, d destination, out reporter) string {
	field, called := "spec.destination.name", d.Name
	switch {
	case d.Name != "" && d.Server != "":
		out.at(near(n, "spec", "destination"), "spec.destination", "the destination has both name and server; keep one")
		return ""
	case d.Name == "" && d.Server == "":
		out.at(near(n, "spec", "destination"), "spec.destination", "the destination names no region; give its name or server (known: %s)", list(l.fleet.names()))
		return ""
	case d.Server != "":
		field, called = "spec.destination.server", d.Server
	}
	r, err := l.fleet.find(called)
	if err != nil {
		out.at(near(n, strings.Split(field, ".")...), field, "%s", err)
	}
	return r.Name
}

// decodeInto reads a checked node into a value.
func decodeInto(n *yaml.Node, into any, out reporter) bool {
	if err := n.Decode(into); err != nil {
		out.at(n, "", "%s", strings.TrimPrefix(err.Error(), "yaml: "))
		return false
	}
	return true
}
