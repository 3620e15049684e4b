package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tidegate/tidegate/internal/gitops"
)

func (p *pipeline) checkStages(n *yaml.Node, out reporter) {
	if len(p.Stages) == 0 {
		out.at(n, "spec.stages", "the Pipeline has no stages")
		return
	}
	seen := map[string]bool{}
	for i, s := range p.Stages {
		path, node := fmt.Sprintf("spec.stages[%d]", i), n.Content[i]
		switch {
		case s.Name == "":
			out.at(node, path+".name", "the stage has no name")
		case !objectName.MatchString(s.Name):
			out.at(node, path+".name", "%q is no name; it must have lower-case letters, digits, - and . only", s.Name)
		case s.Name == gitops.DeletionStage:
			out.at(node, path+".name", "a stage cannot be called %s: that is where targets go that are no longer declared", s.Name)
		case seen[s.Name]:
			out.at(node, path+".name", "two stages are called %s", s.Name)
		}
		seen[s.Name] = true
		s.Selector.check(near(node, "selector"), path+".selector", out)
		s.readGates(node, path, out)
		s.readStrategy(node, path, out)
	}
}

// delivery puts every selected target into its stage.
func (p *pipeline) delivery(selected []candidate, f *fleet, out reporter) gitops.Delivery {
	d := gitops.Delivery{Project: p.project(selected, out), Name: p.name()}
	if len(selected) == 0 {
		out.at(near(p.node, "spec"), "spec", "the Pipeline selects no Application")
		return d
	}
	slices.SortFunc(selected, func(a, b candidate) int { return strings.Compare(a.Name, b.Name) })
	stagesOf := map[string][]string{}
	for i, s := range p.Stages {
		stage := gitops.Stage{Name: s.Name}
		var problems []gitops.Problem // told when the Pipeline was read
		var targets []gitops.Target
		for _, c := range selected {
			if s.Selector.matches(stageLabels(c.Target, f)) {
				stage.Targets, targets = append(stage.Targets, c.Name), append(targets, c.Target)
				stagesOf[c.Name] = append(stagesOf[c.Name], s.Name)
			}
		}
		if len(targets) == 0 {
			out.at(get(p.node, "spec", "stages").Content[i], fmt.Sprintf("spec.stages[%d].selector", i), "stage %s selects none of the %d Applications of the Pipeline", s.Name, len(selected))
		}
		stage.Gates = withSyncGate(s.readGates(get(p.node, "spec", "stages").Content[i], "", reporter{problems: &problems}), targets)
		if stage.Strategy = s.readStrategy(get(p.node, "spec", "stages").Content[i], "", reporter{problems: &problems}); stage.Strategy != nil {
			stage.Strategy.Order = order(s.OrderBy, targets, func(t gitops.Target) map[string]string { return stageLabels(t, f) })
		}
		d.Stages = append(d.Stages, stage)
	}
	for _, c := range selected {
		d.Targets = append(d.Targets, c.Target)
		if n := len(stagesOf[c.Name]); n != 1 {
			out.at(near(p.node, "spec", "stages"), "spec.stages", "Application %s in region %s is in %d stages (%s); it must be in one", c.Name, c.Region, n, list(stagesOf[c.Name]))
		}
	}
	return d
}

// project is that of the Pipeline, which its Applications must share.
func (p *pipeline) project(selected []candidate, out reporter) string {
	project := p.Project
	for _, c := range selected {
		if project == "" {
			project = c.Project
		}
		if c.Project != project {
			out.at(near(p.node, "spec", "project"), "spec.project", "Application %s is in project %s, the Pipeline in %s; a Pipeline promotes Applications of one project", c.Name, c.Project, project)
		}
	}
	return nonEmpty(project, defaultProject)
}

// stageLabels are what a stage selects by.
func stageLabels(t gitops.Target, f *fleet) map[string]string {
	labels := selectionLabels(*f.get(t.Region))
	maps.Copy(labels, t.Labels)
	return labels
}
