package catalog

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/spelling"
)

// Options are what a catalog is read with.
type Options struct {
	// Regions are those of the settings; a catalog cannot add one.
	Regions []gitops.Region
	// Identity returns the normalised identity of a repository's URL.
	Identity func(repoURL string) (string, error)
}

// Load reads all YAML files below a folder. What is wrong in them is among the
// catalog's Problems; the error is for a folder that cannot be read. Links that
// lead out of the folder are not followed.
func Load(dir string, o Options) (gitops.Catalog, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return gitops.Catalog{}, err
	}
	defer func() { _ = root.Close() }()
	return LoadFS(root.FS(), o)
}

// LoadFS is Load for any file system.
func LoadFS(fsys fs.FS, o Options) (gitops.Catalog, error) {
	files, problems, err := readFolder(fsys)
	if err != nil {
		return gitops.Catalog{}, fmt.Errorf("read the folder: %w", err)
	}
	l := &loader{options: o, fleet: newFleet(o.Regions), problems: problems, holdAll: len(problems) > 0}
	docs := l.accept(files)
	for _, d := range docs[kindRegion] {
		l.fleet.add(d, d.reporter(&l.problems))
	}
	for _, d := range docs[kindApplication] {
		if c, ok := l.readApplication(d.node, "", d.reporter(&l.problems)); ok {
			l.candidates = append(l.candidates, c)
		}
	}
	for _, d := range docs[kindApplicationSet] {
		l.readApplicationSet(d)
	}
	l.dropTwins()
	for _, d := range docs[kindHealthRule] {
		l.readHealthRule(d)
	}
	for _, d := range docs[kindPipeline] {
		l.readPipeline(d)
	}
	return l.catalog(), nil
}

// The kinds that are read.
const (
	kindApplication    = "argoproj.io/v1alpha1/Application"
	kindApplicationSet = "argoproj.io/v1alpha1/ApplicationSet"
	kindAppProject     = "argoproj.io/v1alpha1/AppProject"
	kindPipeline       = "tidegate.dev/v1alpha1/Pipeline"
	kindRegion         = "tidegate.dev/v1alpha1/Region"
	kindHealthRule     = "tidegate.dev/v1alpha1/HealthRule"
)

// loader gathers what the documents say.
type loader struct {
	options    Options
	fleet      *fleet
	problems   []gitops.Problem
	candidates []candidate
	sets       []string // names of all ApplicationSets, refused ones too
	pipelines  []*pipeline
	health     []gitops.HealthRule
	// holdAll says that a document which cannot be read may be a Pipeline, so that
	// only targets of other Pipelines are known to pass their gates.
	holdAll bool
}

// accept sorts the documents by kind and keeps those whose fields are right.
func (l *loader) accept(files []file) map[string][]document {
	docs := map[string][]document{}
	places := map[string]string{}
	for _, f := range files {
		parsed, unreadable := parse(f, &l.problems)
		l.holdAll = l.holdAll || slices.ContainsFunc(unreadable, mayBePipeline)
		for _, d := range parsed {
			if d.kind() == kindApplicationSet {
				l.sets = append(l.sets, d.name())
			}
			if !l.acceptDocument(d) {
				continue
			}
			place := fmt.Sprintf("%s:%d", d.file, d.node.Line)
			if before, twice := places[d.kind()+"/"+d.name()]; twice && d.kind() != kindApplication {
				d.reporter(&l.problems).at(d.node, "metadata.name", "%s is declared twice, first in %s; remove one", d.object(), before)
				l.holdPipeline(d)
				continue
			}
			places[d.kind()+"/"+d.name()] = place
			docs[d.kind()] = append(docs[d.kind()], d)
		}
	}
	return docs
}

func (l *loader) acceptDocument(d document) bool {
	out := d.reporter(&l.problems)
	before := out.count()
	r, known := schema().Kinds[d.kind()]
	switch {
	case d.kind() == kindAppProject && d.name() == defaultProject:
		return false
	case !known:
		l.refuseKind(d, out)
		return false
	case r.class == classLater:
		out.at(d.node, "kind", "%s", notYet(text(get(d.node, "kind")), r.note))
		return false
	}
	r.check(d.node, "", out)
	if d.kind() != kindApplication {
		checkName(d.node, d.name(), "metadata.name", out)
	}
	if out.count() > before {
		l.holdPipeline(d)
		return false
	}
	return true
}

// refuseKind reports a document of another kind. A slip in the spelling of
// Pipeline must not set its Applications free.
func (l *loader) refuseKind(d document, out reporter) {
	kinds := slices.Sorted(maps.Keys(schema().Kinds))
	near := spelling.Nearest(d.kind(), kinds)
	l.holdAll = l.holdAll || near == kindPipeline || strings.HasPrefix(d.kind(), "tidegate.dev/") || get(d.node, "spec", "stages") != nil
	if d.kind() == "/" {
		out.at(d.node, "", "the document has no apiVersion and kind")
		return
	}
	out.at(d.node, "kind", "a catalog holds no %s%s (known: %s)", d.kind(), spelling.Hint(d.kind(), kinds), list(kinds))
}

var pipelineText = regexp.MustCompile(`kind["']?\s*:\s*["']?Pipeline`)

func mayBePipeline(text string) bool { return pipelineText.MatchString(text) }

// dropTwins refuses Applications of one name: which one is meant, nobody knows.
func (l *loader) dropTwins() {
	byName := map[string][]candidate{}
	for _, c := range l.candidates {
		byName[c.Name] = append(byName[c.Name], c)
	}
	l.candidates = slices.DeleteFunc(l.candidates, func(c candidate) bool { return len(byName[c.Name]) > 1 })
	for name, twins := range byName {
		for i, c := range twins {
			if len(twins) > 1 {
				other := twins[(i+1)%len(twins)]
				l.problems = append(l.problems, gitops.Problem{
					File: c.file, Line: c.line, Object: "Application/" + name, Field: "metadata.name",
					Message: fmt.Sprintf("another Application is called %s too (%s); none of them is delivered", name, other.place()),
				})
			}
		}
	}
}
