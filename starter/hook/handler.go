// Package hook is the listener that Git hosts tell of pushes. It verifies what
// arrives, finds the refs of the catalog that the push may have moved, and is
// done when Temporal has a hint for each of them: what Git itself says is read
// by a workflow.
package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"go.uber.org/zap"

	"github.com/tidegate/tidegate/internal/catalog"
	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/telemetry"
	"github.com/tidegate/tidegate/internal/webhook"
	"github.com/tidegate/tidegate/workflows"
)

// Path is where a Git host posts to.
const Path = "/api/webhook"

// maxReading is how many requests are read at a time: each may take
// webhook.MaxBody of memory before its sender is known.
const maxReading = 16

// Sender tells the Push workflow of a ref that it may have moved. When it
// returns without an error the hint is safe.
type Sender interface {
	Hint(ctx context.Context, ref gitops.Ref, hint workflows.Hint) (workflowID string, err error)
}

// Catalog says what is declared.
type Catalog interface {
	Catalog(ctx context.Context) (gitops.Catalog, error)
}

// Options are what a handler is made of; all are required.
type Options struct {
	GitHub   webhook.GitHub
	Sender   Sender
	Catalog  Catalog
	Identity func(repoURL string) (string, error) // of a repository, as the catalog has it
	Metrics  *telemetry.Metrics
	Log      *zap.Logger
}

// handler answers Path.
type handler struct {
	Options
	deliveries webhook.Deduper
	reading    chan struct{}
}

// New returns the handler of the webhook listener.
func New(o Options) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST "+Path, &handler{Options: o, reading: make(chan struct{}, maxReading)})
	return mux
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	event, err := h.read(r)
	result := h.refuse(err)
	if err == nil {
		result = h.handle(r.Context(), event)
	}
	h.Metrics.WebhookEvents.WithLabelValues("github", eventType(event), result.outcome).Inc()
	log := h.Log.Info
	if result.status >= http.StatusBadRequest {
		log = h.Log.Warn
	}
	log("webhook", zap.String("outcome", result.outcome), zap.Int("status", result.status), zap.String("delivery", event.DeliveryID),
		zap.String("event", event.Name), zap.Strings("workflows", result.WorkflowIDs), zap.String("reason", result.Reason))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(result.status)
	_ = json.NewEncoder(w).Encode(result.Answer) // the sender has gone; there is nobody to tell
}

// read verifies a request, when its turn comes.
func (h *handler) read(r *http.Request) (webhook.Event, error) {
	select {
	case h.reading <- struct{}{}:
		defer func() { <-h.reading }()
	case <-r.Context().Done():
		return webhook.Event{}, r.Context().Err()
	}
	return h.GitHub.Read(r)
}

// refuse is the answer to a request that is not to be believed.
func (h *handler) refuse(err error) result {
	outcome := "error"
	switch {
	case errors.Is(err, webhook.ErrUnsigned):
		outcome = "unsigned"
	case errors.Is(err, webhook.ErrTooLarge):
		outcome = "too_large"
	case errors.Is(err, webhook.ErrMalformed):
		outcome = "malformed"
	case err == nil:
		return result{}
	}
	return result{outcome: outcome, status: webhook.Status(err), Answer: Answer{Reason: err.Error()}}
}

// handle answers a verified event once.
func (h *handler) handle(ctx context.Context, event webhook.Event) result {
	if event.Push == nil {
		return nothingToDo("ignored", event.Ignored)
	}
	claim, err := h.deliveries.Begin(ctx, event.Key())
	if err != nil {
		return unavailable(err)
	}
	if claim == nil {
		h.Metrics.WebhookDedupeHits.Inc()
		return nothingToDo("duplicate", "this delivery was handled before")
	}
	defer claim.Abort()
	result := h.push(ctx, *event.Push)
	if result.status == http.StatusAccepted { // anything else may turn out differently next time
		claim.Commit()
	}
	return result
}

// push hints every ref of the catalog that a push may have moved.
func (h *handler) push(ctx context.Context, p webhook.Push) result {
	cat, err := h.Catalog.Catalog(ctx)
	if err != nil {
		return unavailable(err)
	}
	repository, refs := h.find(cat, p)
	if repository == "" {
		return nothingToDo("unknown_repository", "no source of the catalog is this repository")
	}
	refs = slices.DeleteFunc(refs, func(ref gitops.Ref) bool { return !mayMove(p.Ref, ref.Revision) })
	if len(refs) == 0 {
		return nothingToDo("not_followed", fmt.Sprintf("no Delivery follows %s of %s", p.Ref, repository))
	}
	answer := Answer{Repository: repository, Ref: p.Ref, Commit: p.After}
	for _, ref := range refs {
		hint := workflows.Hint{Commit: p.After, From: "github " + p.DeliveryID}
		if ref.Revision == "HEAD" || gitops.MayBeRange(ref.Revision) {
			hint.Commit = "" // the branch need not be the default one, the tag not the highest
		}
		id, err := h.Sender.Hint(ctx, ref, hint)
		if err != nil {
			return unavailable(err)
		}
		answer.WorkflowIDs = append(answer.WorkflowIDs, id)
	}
	answer.WorkflowID = answer.WorkflowIDs[0]
	return result{outcome: "accepted", status: http.StatusAccepted, Answer: answer}
}

// find returns the first of a push's repositories that the catalog knows, and
// the refs of it that are followed. An address that is not one is passed over.
func (h *handler) find(cat gitops.Catalog, p webhook.Push) (repository string, refs []gitops.Ref) {
	for _, address := range p.Repositories {
		identity, err := h.Identity(address)
		if err != nil {
			continue
		}
		if refs := catalog.Affected(cat, identity); len(refs) > 0 {
			return identity, refs
		}
	}
	return "", nil
}
