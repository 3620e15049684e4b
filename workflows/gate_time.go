package workflows

import (
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/tidegate/tidegate/internal/gitops"
)

// watchGates keeps the gates up to date that open and close by themselves, and ends the
// rollout when one is not open in time. The function that it returns ends that: what has
// begun is never cut by a gate.
func (r *rollout) watchGates(ctx workflow.Context) (stop func()) {
	ctx, stop = workflow.WithCancel(ctx)
	for _, g := range r.in.Gates {
		if g.Window != nil {
			workflow.Go(ctx, func(ctx workflow.Context) { r.watchWindow(ctx, g) })
		}
		if g.Deadline > 0 {
			workflow.Go(ctx, func(ctx workflow.Context) {
				if workflow.Sleep(ctx, g.Deadline) == nil {
					r.end(gitops.PhaseClosed, fmt.Sprintf("gate %s did not let it in within %s", g.Name, g.Deadline))
				}
			})
		}
	}
	return stop
}

// lookAgain bounds how long a window's verdict is believed.
const lookAgain = 24 * time.Hour

// watchWindow opens and closes a gate as its windows do.
func (r *rollout) watchWindow(ctx workflow.Context, declared gitops.Gate) {
	for ctx.Err() == nil {
		now := workflow.Now(ctx)
		verdict, err := windowAt(ctx, *declared.Window, now)
		if ctx.Err() != nil {
			return
		}
		g := r.gate(declared.Name)
		pause := lookAgain
		if !verdict.Until.IsZero() {
			pause = min(pause, verdict.Until.Sub(now))
		}
		switch {
		case err != nil:
			g.State, g.Message = GateStateWaiting, "its windows cannot be read: "+explain(err)
		case verdict.Open:
			g.State, g.Message, g.By = GateStateOpen, verdict.Why, "its windows"
		case verdict.Until.IsZero():
			g.State, g.Message = GateStateWaiting, "is closed: "+verdict.Why
		default:
			g.State, g.Message = GateStateWaiting, fmt.Sprintf("is closed until %s UTC: %s", verdict.Until.UTC().Format(time.DateTime), verdict.Why)
		}
		g.Since = &now
		r.show(ctx)
		_ = workflow.Sleep(ctx, pause)
	}
}

// approve counts somebody's approval of the plan in hand, and says where the gate stands
// with it.
func (r *rollout) approve(ctx workflow.Context, g *GateStatus, d Decision) string {
	g.Approved = append(g.Approved, d.By)
	if g.Expires > 0 {
		workflow.Go(ctx, func(ctx workflow.Context) {
			if workflow.Sleep(ctx, g.Expires) == nil {
				r.expireApproval(ctx, d)
			}
		})
	}
	if missing := g.Needed() - len(g.Approved); missing > 0 {
		g.Message = fmt.Sprintf("has %d of %d approvals of plan %s (%s)", len(g.Approved), g.Needed(), d.PlanDigest, names(g.Approved))
		return fmt.Sprintf("gate %s of rollout %d takes %d more", g.Name, r.in.Number, missing)
	}
	g.State, g.By, g.Message = GateStateOpen, names(g.Approved), d.Reason
	r.approved[g.Name] = d.PlanDigest
	return fmt.Sprintf("gate %s of rollout %d is open", g.Name, r.in.Number)
}

// expireApproval takes an approval back that was given too long ago, unless the rollout
// has begun since, or the approval has lapsed.
func (r *rollout) expireApproval(ctx workflow.Context, d Decision) {
	g := r.gate(d.Gate)
	if r.delivering || r.ended() || d.PlanDigest != r.status.PlanDigest || !slices.Contains(g.Approved, d.By) {
		return
	}
	g.Approved = slices.DeleteFunc(g.Approved, func(name string) bool { return name == d.By })
	g.State, g.By = GateStateWaiting, names(g.Approved)
	g.Message = fmt.Sprintf("the approval by %s has expired after %s; it waits for one of plan %s", d.By, g.Expires, r.status.PlanDigest)
	delete(r.approved, g.Name)
	r.show(ctx)
}

func names(all []string) string {
	text := ""
	for i, name := range all {
		if i > 0 {
			text += ", "
		}
		text += name
	}
	return text
}
