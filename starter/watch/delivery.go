package watch

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/promotion"
	"github.com/tidegate/tidegate/starter/api"
	"github.com/tidegate/tidegate/starter/client"
	"github.com/tidegate/tidegate/workflows"
)

// delivery looks at one Delivery.
type delivery struct {
	key       string
	client    client.Client
	revision  string
	untilGate bool
}

// snapshot is what a look at a Delivery has found.
type snapshot struct {
	status   promotion.Status
	rollouts []api.Rollout
	release  int                                 // that is followed; 0 when there is none yet
	details  map[string]*workflows.RolloutStatus // of the open rollouts of the release, by stage
	open     map[string]api.Rollout              // by stage
	ended    map[string]api.Rollout              // the last one of the release that has ended, by stage
}

func (d delivery) look(ctx context.Context) (View, error) {
	s := snapshot{details: map[string]*workflows.RolloutStatus{}, open: map[string]api.Rollout{}, ended: map[string]api.Rollout{}}
	var err error
	if s.status, err = d.client.Delivery(ctx, d.key); err != nil {
		return View{}, err
	}
	list, err := d.client.Rollouts(ctx, d.key)
	if err != nil {
		return View{}, err
	}
	s.rollouts = list.Rollouts
	s.release = s.find(d.revision)
	for _, r := range slices.Backward(s.rollouts) { // oldest first
		switch {
		case r.Release != s.release:
		case r.Phase.Final() || r.Finished != nil:
			s.ended[r.Stage] = r
		default:
			s.open[r.Stage] = r
		}
	}
	for stage, r := range s.open {
		detail, err := d.client.Rollout(ctx, idOf(r))
		switch {
		case err == nil:
			s.details[stage] = &detail
		case !client.Is(err, http.StatusNotFound): // else it has not begun yet
			return View{}, err
		}
	}
	return s.view(d), nil
}

func idOf(r api.Rollout) client.RolloutID {
	return client.RolloutID{Delivery: r.Delivery, Stage: r.Stage, Number: r.Number}
}

// find is the release to follow: the newest, or that of a revision.
func (s snapshot) find(revision string) int {
	newest := 0
	note := func(number int, commits ...string) {
		if slices.ContainsFunc(commits, func(c string) bool { return strings.HasPrefix(c, revision) }) {
			newest = max(newest, number)
		}
	}
	for _, st := range s.status.Stages {
		for _, r := range []*promotion.ReleaseStatus{st.Current, st.Next, st.Failed} {
			if r != nil && revision != "" {
				note(r.Number, r.Revision)
			}
		}
	}
	if s.status.Newest != nil {
		note(s.status.Newest.Number, s.status.Newest.Revision)
	}
	for _, r := range s.rollouts {
		if revision != "" {
			note(r.Release, append(r.Commits, r.Revision)...)
		}
	}
	return newest
}

func (s snapshot) view(d delivery) View {
	v := View{Title: fmt.Sprintf("%s  release %d (%s)  %s, %s", d.key, s.release, gitops.ShortRevision(s.revision()), s.status.Sync, s.status.Health)}
	if s.release == 0 {
		v.Title = fmt.Sprintf("%s  no release yet", d.key)
		if d.revision != "" {
			v.Title = fmt.Sprintf("%s  no release of %s yet", d.key, gitops.ShortRevision(d.revision))
		}
	}
	for _, stage := range s.status.Stages {
		if detail := s.details[stage.Name]; detail != nil {
			v.Rows = append(v.Rows, rowsOf(*detail)...)
			v.Notes = append(v.Notes, notesOf(idOf(s.open[stage.Name]), *detail)...)
			continue
		}
		v.Rows = append(v.Rows, s.standing(stage.Name)...)
	}
	tellApart(v.Rows)
	for _, c := range s.status.Conditions {
		v.Notes = append(v.Notes, c.String())
	}
	if s.release == 0 && d.revision != "" && !s.status.Rendering {
		v.Notes = append(v.Notes, "A commit that changes nothing of what "+d.key+" is rendered from makes no release.")
	}
	v.End = s.end(d)
	return v
}

// revision is the newest commit that the release stands for.
func (s snapshot) revision() string {
	if s.status.Newest != nil && s.status.Newest.Number == s.release {
		return s.status.Newest.Revision
	}
	for _, r := range s.rollouts {
		if r.Release == s.release {
			return r.Revision
		}
	}
	return ""
}

// standing has a row for each target of a stage in which the release does not
// move.
func (s snapshot) standing(stage string) []Row {
	var rows []Row
	for _, t := range s.status.Targets {
		if t.Stage != stage {
			continue
		}
		row := Row{Stage: stage, Region: t.Region, Target: t.Name, Wave: "no release", Health: string(t.Health), Urgency: Pending}
		switch {
		case t.Unreachable:
			row.Wave, row.Urgency = "unreachable", Broken
		case t.Release == s.release && t.Health == gitops.Degraded:
			row.Wave, row.Urgency = "failed", Broken
		case t.Release == s.release && s.release > 0 && t.Health == gitops.Healthy:
			row.Wave, row.Urgency = "done", Done
		case t.Release > 0:
			row.Wave = fmt.Sprintf("has release %d (%s)", t.Release, gitops.ShortRevision(t.Revision))
		}
		rows = append(rows, row)
	}
	return rows
}

// end says whether the release has come to an end, and to which.
func (s snapshot) end(d delivery) *End {
	if s.release == 0 {
		return s.unrendered(d)
	}
	var stuck *api.Rollout
	left, queued, atGate := 0, false, ""
	for _, stage := range s.status.Stages {
		if stage.Retired || stage.Current != nil && stage.Current.Number >= s.release {
			continue
		}
		left++
		queued = queued || stage.Next != nil && stage.Next.Number == s.release
		if last, ok := s.ended[stage.Name]; ok && stuck == nil && last.Phase != gitops.PhaseHealthy {
			stuck = &last
		}
		if detail := s.details[stage.Name]; detail != nil && WaitsAtGate(*detail) {
			atGate = idOf(s.open[stage.Name]).String()
		}
	}
	switch {
	case left == 0 && d.revision == "" && s.status.Rendering:
		return nil // a newer release may be on its way
	case left == 0:
		return &End{Outcome: Healthy, Message: fmt.Sprintf("release %d of %s is healthy in every stage", s.release, d.key)}
	case d.untilGate && atGate != "":
		return &End{Outcome: AtGate, Message: atGate + " waits at a gate"}
	case stuck != nil && len(s.open) == 0 && !queued:
		return &End{Outcome: outcomeOf(stuck.Phase), Message: sentence("rollout "+stuck.ID, stuck.Phase, stuck.Message)}
	}
	return nil
}

// unrendered is the end of a revision that never becomes a release.
func (s snapshot) unrendered(d delivery) *End {
	failed := slices.ContainsFunc(s.status.Unrendered, func(c string) bool { return strings.HasPrefix(c, d.revision) })
	if !failed || s.status.Rendering {
		return nil
	}
	message := d.key + " has no release"
	if d.revision != "" {
		message += " of " + gitops.ShortRevision(d.revision)
	}
	for _, c := range s.status.Conditions {
		if c.Kind == promotion.RenderBroken {
			message += ": " + c.Message
		}
	}
	return &End{Outcome: Failed, Message: message}
}
