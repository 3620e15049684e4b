package renderer

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/ignore"

	"github.com/tidegate/tidegate/internal/render"
)

const (
	maxChartDepth = 32 // folders in each other
	shownPath     = 80 // bytes of a path that is too deep
)

// loadChart loads the chart in a folder with the dependencies in its folder
// charts. What it depends on is the folder as a whole: a new file counts too.
func loadChart(t *tree, folder string) (*chart.Chart, error) { return loadNested(t, folder, 0) }

func loadNested(t *tree, folder string, depth int) (*chart.Chart, error) {
	t.note(folder)
	w := chartWalker{tree: t, folder: folder, rules: ignore.Empty()}
	if text, err := t.read(path.Join(folder, ignore.HelmIgnore)); err == nil {
		rules, err := ignore.Parse(bytes.NewReader(text))
		if err != nil {
			return nil, &render.Error{Kind: render.KindParse, File: path.Join(folder, ignore.HelmIgnore), Message: err.Error()}
		}
		w.rules = rules
	}
	w.rules.AddDefaults()
	if err := w.walk("", 0); err != nil {
		return nil, err
	}
	c, err := loader.LoadFiles(w.files)
	if err != nil {
		return nil, explainLoad(folder, err)
	}
	if err := addNeighbours(t, folder, c, depth); err != nil {
		return nil, err
	}
	sortDependencies(c)
	return c, nil
}

// sortDependencies gives the dependencies an order: the loader has none.
func sortDependencies(c *chart.Chart) {
	list := slices.SortedStableFunc(slices.Values(c.Dependencies()), func(a, b *chart.Chart) int { return strings.Compare(a.Name(), b.Name()) })
	c.SetDependencies(list...)
	for _, d := range list {
		sortDependencies(d)
	}
}

// chartWalker collects the files of a chart.
type chartWalker struct {
	tree   *tree
	folder string
	rules  *ignore.Rules
	files  []*archive.BufferedFile
}

// walk collects the files below a folder of the chart. Links are followed within
// the repository, as Helm does.
func (w *chartWalker) walk(inside string, depth int) error {
	at := path.Join(w.folder, inside)
	if depth > maxChartDepth {
		return &render.Error{Kind: render.KindBuild, File: w.folder, Message: fmt.Sprintf(
			"the chart has more than %d folders in each other, as in %s…; is there a link that leads back?", maxChartDepth, at[:min(len(at), shownPath)])}
	}
	place, _, err := w.tree.resolve(at)
	if err != nil {
		return unreadable(w.tree, at, err)
	}
	w.tree.note(place)
	entries, err := w.tree.list(place)
	if err != nil {
		return fmt.Errorf("list %s: %w", at, err)
	}
	for _, entry := range entries {
		if err := w.entry(path.Join(inside, entry.Name()), depth); err != nil {
			return err
		}
	}
	return nil
}

func (w *chartWalker) entry(name string, depth int) error {
	at := path.Join(w.folder, name)
	_, info, err := w.tree.resolve(at)
	if err != nil {
		return unreadable(w.tree, at, err)
	}
	if w.rules.Ignore(name, info) {
		return nil
	}
	if info.IsDir() {
		return w.walk(name, depth+1)
	}
	text, err := w.tree.read(at)
	if err != nil {
		return unreadable(w.tree, at, err)
	}
	w.files = append(w.files, &archive.BufferedFile{Name: name, Data: bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))})
	return nil
}

var loadFile = regexp.MustCompile(`cannot load ([\w.]+): `)

// explainLoad gives an error of Helm's loader the file that it is about.
func explainLoad(folder string, err error) error {
	fault := &render.Error{Kind: render.KindParse, File: path.Join(folder, chartFile)}
	text := err.Error()
	if m := loadFile.FindStringSubmatch(text); m != nil {
		fault.File = path.Join(folder, m[1])
		text = strings.TrimPrefix(text[strings.Index(text, m[0])+len(m[0]):], "cannot unmarshal yaml document: ")
		fault.Line, fault.Message = explainYAML(text)
		return fault
	}
	fault.Message = "it is no chart: " + text
	return fault
}

// templateLine is a template and a line in a message of the template engine.
var templateLine = regexp.MustCompile(`([\w.-]+(?:/[\w.-]+)*/templates/[^\s:"]+):(\d+)(?::\d+)?:?`)

// explainTemplate gives an error of a template its file and line. The template
// that was called last is the one to look at.
func explainTemplate(folder string, c *chart.Chart, err error) error {
	fault := &render.Error{Kind: render.KindBuild, File: path.Join(folder, chartFile)}
	text := err.Error()
	if all := templateLine.FindAllStringSubmatch(text, -1); len(all) > 0 {
		last := all[len(all)-1]
		fault.File = templatePlace(folder, c, last[1])
		fault.Line, _ = strconv.Atoi(last[2])
	}
	reason := text
	if i := templateLine.FindAllStringIndex(text, -1); len(i) > 0 {
		reason = text[i[len(i)-1][1]:]
	}
	reason = strings.Join(strings.Fields(reason), " ")
	if len(reason) > maxReason {
		reason = strings.ToValidUTF8(reason[:maxReason], "") + " …"
	}
	fault.Message = "Helm cannot render it: " + strings.TrimLeft(reason, "): ")
	return fault
}
