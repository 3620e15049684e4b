package main

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/tidegate/tidegate/activities"
	"github.com/tidegate/tidegate/internal/charts"
	"github.com/tidegate/tidegate/internal/git"
	"github.com/tidegate/tidegate/internal/temporalclient"
	"github.com/tidegate/tidegate/workflows"
)

// catalogEvery is how often the catalog's folder is looked at.
const catalogEvery = time.Second

// stickyTimeout is how long a workflow waits for the worker that has it in
// memory before any other may take it: what a killed worker costs.
const stickyTimeout = time.Second

// control serves the workflows, and the activities that need neither a sandbox
// nor a region.
func (p program) control(ctx context.Context) (worker.Worker, error) {
	if err := temporalclient.EnsureSearchAttributes(ctx, p.temporal, p.settings.Temporal.Namespace, workflows.SearchAttributes()); err != nil {
		return nil, err
	}
	mirrors, err := git.New(git.Options{
		Dir: p.settings.Git.Mirrors, FileRoot: p.settings.Git.FileRoot, Credentials: credentials(p.settings.Git.Credentials, p.log),
		SSHKeys: sshKeys(p.settings.Git.Credentials, p.log), KnownHosts: p.settings.Git.KnownHosts,
	})
	if err != nil {
		return nil, fmt.Errorf("open the Git mirrors: %w", err)
	}
	signers, err := signersOf(p.settings.Git.Signatures)
	if err != nil {
		return nil, err
	}
	blobs := activities.Blobs{Store: p.store}
	w := worker.New(p.temporal, workflows.TaskQueue, worker.Options{
		WorkerStopTimeout: stopTimeout, DisableRegistrationAliasing: true, StickyScheduleToStartTimeout: stickyTimeout,
		WorkflowTaskPollerBehavior: worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{InitialNumberOfPollers: 5}),
		ActivityTaskPollerBehavior: worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{InitialNumberOfPollers: 5}),
	})
	register(w, workflows.PushType, workflows.Push)
	register(w, workflows.DeliveryType, workflows.Delivery)
	register(w, workflows.RolloutType, workflows.Rollout)
	register(w, workflows.CatalogType, workflows.Catalog)
	register(w, workflows.PollType, workflows.Poll)
	register(w, workflows.PreviewType, workflows.Preview)
	w.RegisterActivity(&activities.Source{
		Mirrors: mirrors, Charts: charts.New(charts.Options{Credentials: p.chartCredentials()}), Blobs: blobs,
		Signers: signers, Submodules: p.settings.Git.Submodules,
		MayFetch:  mayFetch(p.settings.Git.RemoteSources),
		PollEvery: p.settings.Git.PollInterval, PollChartsEvery: p.settings.Git.ChartPollInterval,
	})
	w.RegisterActivity(&activities.Courier{Temporal: p.temporal})
	w.RegisterActivity(&activities.Keeper{Blobs: blobs})
	w.RegisterActivity(&activities.Librarian{
		Dir: p.settings.Catalog.Path, Regions: p.settings.Fleet(), Identity: git.NormalizeURL, Blobs: blobs, Every: catalogEvery,
	})
	return w, nil
}

func register(w worker.Worker, name string, workflowFunc any) {
	w.RegisterWorkflowWithOptions(workflowFunc, workflow.RegisterOptions{Name: name})
}
