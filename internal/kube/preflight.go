package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tidegate/tidegate/internal/diff"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/manifest"
)

// trial is a plan being tried out: the region is asked, for all that the plan
// writes, whether it would take it, and what would change.
type trial struct {
	work
	mu       sync.Mutex
	refusals []gitops.ObjectIssue
}

// preflight tries a plan out by server-side dry-runs, some at the same time. It
// notes for each object what would change, or why that could not be found out. What
// the region would refuse is an error, and nothing has been written.
func (v *view) preflight(ctx context.Context, plan *Plan) error {
	t := &trial{work: work{region: v.region, fence: &fence{inv: v.inventory}, in: ApplyInput{Plan: *plan}, ignored: v.ignored}}
	group, groupCtx := errgroup.WithContext(ctx)
	for s := range plan.Steps {
		for g := range plan.Steps[s].Groups {
			for i := range plan.Steps[s].Groups[g] {
				o := &plan.Steps[s].Groups[g][i]
				q, cached := v.questionOf(plan, *o)
				if !o.writes() && o.Action != diff.Prune || cached && v.region.tried.recall(q, o) {
					continue
				}
				select {
				case v.region.inFlight <- struct{}{}:
				case <-groupCtx.Done():
					return errors.Join(group.Wait(), context.Cause(ctx))
				}
				group.Go(func() error {
					defer func() { <-v.region.inFlight }()
					err := t.try(groupCtx, o)
					if err == nil && cached {
						v.region.tried.remember(q, *o)
					}
					return t.note(o, err)
				})
			}
		}
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("try the plan out: %w", err)
	}
	plan.Tried = true
	return t.refused()
}

// note sorts out what came of an object's dry-run.
func (t *trial) note(o *PlannedObject, err error) error {
	var status apierrors.APIStatus
	switch reason := unchecked(err); {
	case err == nil:
		return nil
	case reason != "":
		o.Unchecked = reason
		return nil
	case errors.As(err, &status) && severityOf(err) == final, errors.Is(err, errMoved), errors.Is(err, ErrForbidden):
		t.mu.Lock()
		defer t.mu.Unlock()
		t.refusals = append(t.refusals, issue(*o, err))
		return nil
	default:
		return fmt.Errorf("%s: %w", o.Key, err)
	}
}

// unchecked is why a dry-run says nothing about the real thing; empty when it does.
func unchecked(err error) string {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return ""
	case errors.Is(err, manifest.ErrUnknownKind), isUnserved(err):
		return "its kind is not there yet"
	case apierrors.IsNotFound(err) && errors.As(err, &status) && status.Status().Details.Kind == "namespaces":
		return "its namespace is not there yet"
	case strings.Contains(err.Error(), "does not support dry run"):
		return "a webhook does not support dry-runs"
	case errors.Is(err, errAnew):
		return "it is deleted and made anew"
	case apierrors.IsAlreadyExists(err):
		return "it is there from an earlier run, which goes first"
	default:
		return ""
	}
}

// errAnew means that what is tried out would be made anew.
var errAnew = errors.New("it is made anew")

// try makes the dry-run of one object.
func (t *trial) try(ctx context.Context, o *PlannedObject) error {
	res, err := t.region.resourceFor(ctx, o.Key, o.APIVersion)
	if err != nil {
		return err
	}
	ctx = withDryRun(ctx)
	switch {
	case o.Action == diff.Prune:
		_, err = t.region.delete(ctx, res, *o, metav1.DeletePropagationBackground)
		return ignoreNotFound(err)
	case o.Hook != nil:
		_, err = t.region.create(ctx, res, *o)
		return err
	case o.Action == diff.Create:
		_, err = t.make(ctx, res, *o)
		return err
	}
	return t.tryChange(ctx, res, o)
}

func (t *trial) tryChange(ctx context.Context, res resource, o *PlannedObject) error {
	if o.Manner.Replace && o.Manner.Force {
		return errAnew
	}
	live, err := t.region.get(ctx, res, o.Key.Namespace, o.Key.Name)
	if err != nil {
		return err
	}
	var want map[string]any
	manner := o.Manner
	o.Manner.Force = false // which would delete
	want, err = t.writeOnce(ctx, res, *o, applyAs{manager: t.manager(*o), force: true})
	o.Manner = manner
	switch {
	case apierrors.IsInvalid(err) && o.Manner.Force:
		return errAnew
	case err != nil:
		return err
	}
	before, err := without(ctx, live, t.ignored[o.Key])
	if err != nil {
		return err
	}
	after, err := without(ctx, want, t.ignored[o.Key])
	if err != nil {
		return err
	}
	o.Fields = diff.Masked(o.Key, diff.Fields(before, after))
	return nil
}

// refused is the error about what the region would not take.
func (t *trial) refused() error {
	if len(t.refusals) == 0 {
		return nil
	}
	sortIssues(t.refusals)
	names := make([]string, 0, maxNamed+1)
	for i, r := range t.refusals {
		if i == maxNamed {
			names = append(names, fmt.Sprintf("and %d more", len(t.refusals)-maxNamed))
			break
		}
		names = append(names, r.Object+": "+r.Message)
	}
	return fmt.Errorf("%w by a dry-run, nothing was written: %s", ErrRefused, strings.Join(names, "; "))
}

// changesDigest is the same for plans that would change the same, wherever they do.
func (p Plan) changesDigest(mac manifest.MAC) string {
	var lines []string
	for _, step := range p.Steps {
		for _, group := range step.Groups {
			for _, o := range group {
				if o.Action == diff.Unchanged {
					continue
				}
				fields, _ := json.Marshal(o.Fields)
				lines = append(lines, fmt.Sprintf("%s %s %s %s", o.Action, o.Key, o.Unchecked, fields))
			}
		}
	}
	slices.Sort(lines)
	return mac("changes", []byte(strings.Join(lines, "\n")))
}
