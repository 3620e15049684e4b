package workflows

import (
	"fmt"
	"strings"

	"go.temporal.io/sdk/workflow"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/promotion"
)

// show tells the Temporal Web UI how things stand.
func (d *delivery) show(ctx workflow.Context) {
	status := d.state.Status()
	lines := []string{"| stage | current | running | at the gate |", "|---|---|---|---|"}
	for _, s := range status.Stages {
		lines = append(lines, fmt.Sprintf("| %s | %s | %s | %s |", s.Name, releaseText(s.Current), rolloutTexts(s.Running), rolloutTexts(pointers(s.Waiting)...)))
	}
	for _, c := range status.Conditions {
		lines = append(lines, "", fmt.Sprintf("- **%s** %s: %s", c.Kind, c.Subject, c.Message))
	}
	workflow.SetCurrentDetails(ctx, strings.Join(lines, "\n"))
}

func releaseText(r *promotion.ReleaseStatus) string {
	if r == nil {
		return "–"
	}
	return fmt.Sprintf("release %d (%s)", r.Number, gitops.ShortRevision(r.Revision))
}

func rolloutTexts(rollouts ...*promotion.RolloutStatus) string {
	var texts []string
	for _, r := range rollouts {
		if r != nil {
			texts = append(texts, fmt.Sprintf("rollout %d of release %d (%s): %s", r.Number, r.Release, gitops.ShortRevision(r.Revision), r.Phase))
		}
	}
	if len(texts) == 0 {
		return "–"
	}
	return strings.Join(texts, ", ")
}

func pointers(rollouts []promotion.RolloutStatus) []*promotion.RolloutStatus {
	var list []*promotion.RolloutStatus
	for i := range rollouts {
		list = append(list, &rollouts[i])
	}
	return list
}
