package renderer

import (
	"errors"
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
// charts: elsewhere in the repository, as file://../path says, or in a repository
// of charts. One that is nowhere is an error.
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
		place := path.Join(folder, relative)
		if !isPath {
			var err error
			if place, err = fetched(t, folder, c, d); err != nil {
				fault.Message = fmt.Sprintf("its dependency %s %s: %v", d.Name, d.Version, err)
				return fault
			}
			if place == "" {
				continue
			}
		}
		neighbour, err := loadNeighbour(t, place, depth)
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

// fetched is where a dependency of a repository is in the tree, or empty while it
// is asked for. The version is that of Chart.lock, as helm dependency build has
// it, where that says one.
func fetched(t *tree, folder string, c *chart.Chart, d *chart.Dependency) (string, error) {
	switch {
	case d.Repository == "":
		return "", errors.New("it is not in the folder charts, and no repository is named for it")
	case strings.HasPrefix(d.Repository, "@"), strings.HasPrefix(d.Repository, "alias:"):
		return "", fmt.Errorf("%s is a name that only the settings of a helm program know; write the repository's URL", d.Repository)
	}
	if err := checkUser(d.Repository); err != nil {
		return "", err
	}
	version := d.Version
	if c.Lock != nil {
		for _, locked := range c.Lock.Dependencies {
			if locked.Name == d.Name && locked.Repository == d.Repository && (d.Version == "" || chartutil.IsCompatibleRange(d.Version, locked.Version)) {
				version = locked.Version
			}
		}
	}
	need := chartNeed(d.Repository, d.Name, version)
	if t.need(need) == nil {
		return "", nil
	}
	return path.Join(folder, need.Name()), nil
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
