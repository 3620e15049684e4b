package renderer

import (
	"fmt"
	"path"
	"strings"

	chart "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"

	"github.com/tidegate/tidegate/internal/render"
)

// maxNested bounds charts that depend on each other by paths.
const maxNested = 8

// addNeighbours adds the declared dependencies that are not in the chart's folder
// charts but elsewhere in the repository, as file://../path says. One that is
// nowhere is an error.
func addNeighbours(t *tree, folder string, c *chart.Chart, depth int) error {
	have := map[string]bool{}
	for _, d := range c.Dependencies() {
		have[d.Name()] = true
	}
	for _, d := range c.Metadata.Dependencies {
		if have[d.Name] {
			continue
		}
		fault := &render.Error{Kind: render.KindRemote, File: path.Join(folder, chartFile)}
		relative, isPath := strings.CutPrefix(d.Repository, "file://")
		if !isPath {
			fault.Message = fmt.Sprintf("its dependency %s %s is not in the folder charts, and a render has no network; run helm dependency update and commit what it fetches", d.Name, d.Version)
			return fault
		}
		neighbour, err := loadNeighbour(t, path.Join(folder, relative), depth)
		if err != nil {
			return err
		}
		if d.Name != neighbour.Name() || d.Version != "" && !chartutil.IsCompatibleRange(d.Version, neighbour.Metadata.Version) {
			fault.Kind, fault.Message = render.KindBuild, fmt.Sprintf("its dependency %s %s is at %s, but there is %s %s", d.Name, d.Version, d.Repository, neighbour.Name(), neighbour.Metadata.Version)
			return fault
		}
		have[d.Name] = true // again under another alias, it is the same chart
		c.AddDependency(neighbour)
	}
	return nil
}

func loadNeighbour(t *tree, folder string, depth int) (*chart.Chart, error) {
	fault := &render.Error{Kind: render.KindBuild, File: folder}
	switch {
	case folder == "..", strings.HasPrefix(folder, "../"):
		fault.Kind, fault.Message = render.KindPath, errOutside.Error()
		return nil, fault
	case depth >= maxNested:
		fault.Message = fmt.Sprintf("charts depend on each other by paths more than %d deep; is there a circle?", maxNested)
		return nil, fault
	case !t.isFile(path.Join(folder, chartFile)):
		fault.Kind, fault.Message = render.KindPath, "a chart depends on the one here, but there is no Chart.yaml"+t.nearby(folder)
		return nil, fault
	}
	return loadNested(t, folder, depth+1)
}
