package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/deploy/local/stack"
)

// webhookSecret signs the webhooks of every world.
const webhookSecret = "a secret of the tests"

func (w *world) settingsFile() string { return filepath.Join(w.dir, "tidegate.yaml") }

// theSandbox is what renders run in on this host. It is found out once.
func theSandbox(bin string) string {
	foundSandbox.Do(func() { sandboxName = stack.Sandbox(bin) })
	return sandboxName
}

var (
	foundSandbox sync.Once
	sandboxName  string
)

// writeSettings writes the settings of both programs. The regions are those of
// the world's stages, each with the label that its stage selects.
func (w *world) writeSettings() {
	s := w.settings
	var b strings.Builder
	fmt.Fprintf(&b, "temporal: {address: %q, namespace: %q}\n", w.Temporal.Address, w.name)
	fmt.Fprintf(&b, "artifacts: {url: %q}\n", "file://"+filepath.Join(w.dir, "artifacts"))
	fmt.Fprintf(&b, "catalog: {path: %q}\n", filepath.Join(w.dir, "catalog"))
	fmt.Fprintf(&b, "webhook: {listen: %q, githubSecret: %q}\n", s.Webhook.Listen, webhookSecret)
	fmt.Fprintf(&b, "api: {listen: %q}\n", s.API.Listen)
	fmt.Fprintf(&b, "metrics: {listen: %q}\n", s.Metrics.Listen)
	fmt.Fprintf(&b, "worker: {metrics: %q}\n", s.Worker.Metrics)
	fmt.Fprintf(&b, "git: {mirrors: %q, pollInterval: %s, chartPollInterval: 1s, remoteSources: [%s]}\n", filepath.Join(w.dir, "mirrors"), w.options.poll, strings.Join(w.options.remote, ", "))
	plugins := ""
	if w.options.plugin != "" {
		w.write("plugin.yaml", w.options.plugin)
		plugins = "{file: plugin.yaml}"
	}
	fmt.Fprintf(&b, "render: {binary: %q, sandbox: %s, plugins: [%s]}\n", filepath.Join(w.bin, "tidegate-render"), theSandbox(w.bin), plugins)
	b.WriteString("regions:\n")
	for _, st := range w.options.stages {
		for _, name := range st.regions {
			r := w.region(w.t, name)
			fmt.Fprintf(&b, "  - {name: %s, kubeconfig: %q, context: %s, labels: {stage: %s}}\n", name, r.Kubeconfig, stack.UserTidegate, st.name)
		}
	}
	w.write("tidegate.yaml", b.String())
	require.NoError(w.t, os.MkdirAll(filepath.Join(w.dir, "artifacts"), 0o750))
	require.NoError(w.t, os.MkdirAll(filepath.Join(w.dir, "mirrors"), 0o750))
}

// write writes a file of the world's folder.
func (w *world) write(name, content string) {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	require.NoError(w.t, os.MkdirAll(filepath.Dir(path), 0o750))
	require.NoError(w.t, os.WriteFile(path, []byte(content), 0o600))
}

// applicationSet declares an Application for every region of the world; its
// targets are called name-region. Each folder of a repository may be one.
func (w *world) applicationSet(name, repoURL, revision, path string) string {
	return w.applicationSetOf(name, fmt.Sprintf("{repoURL: %q, targetRevision: %q, path: %q}", repoURL, revision, path))
}

// applicationSetOf is applicationSet with the source as it is written.
func (w *world) applicationSetOf(name, source string) string {
	return fmt.Sprintf(`---
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata:
  name: %[1]s
spec:
  generators:
    - clusters: {}
  template:
    metadata:
      name: '%[1]s-{{name}}'
    spec:
      project: default
      source: %[2]s
      destination: {name: '{{name}}', namespace: %[1]s}
      syncPolicy:
        automated: {prune: true, selfHeal: true}
        syncOptions: [CreateNamespace=true]
`, name, source)
}

// pipeline groups the targets of an ApplicationSet into the world's stages.
func (w *world) pipeline(name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "---\napiVersion: tidegate.dev/v1alpha1\nkind: Pipeline\nmetadata: {name: %[1]s}\nspec:\n  applicationSet: %[1]s\n  stages:\n", name)
	for _, st := range w.options.stages {
		fmt.Fprintf(&b, "    - name: %[1]s\n      selector: {matchLabels: {stage: %[1]s}}\n", st.name)
		if st.approval {
			b.WriteString("      gates:\n        - approval: {}\n")
		}
	}
	return b.String()
}

// pipelineCatalog is the usual catalog: the folder app of the repository, to
// every region, stage by stage.
func pipelineCatalog(w *world) string {
	return w.applicationSet(w.name, w.repo.URL, "main", "app") + w.pipeline(w.name)
}
