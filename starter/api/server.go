// Package api is what the user's verbs, and whatever else watches Tidegate,
// speak to: JSON over HTTP, described by /api/v1/openapi.json. It holds no
// state: the catalog tells which Deliveries there are, their workflows how they
// stand.
package api

import (
	"context"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/starter/flows"
	"github.com/tidegate/tidegate/workflows"
)

// Asker queries workflows. Its errors are those of package flows.
type Asker interface {
	Query(ctx context.Context, workflow, query string, result any) error
	// Words are what its activities say of themselves, by task queue.
	Words(ctx context.Context, workflow string) (map[string]string, error)
	// Retiring are the Deliveries that run besides those declared: their targets are
	// being deleted, or wait for that.
	Retiring(ctx context.Context, declared map[string]bool) ([]string, error)
}

// Teller tells workflows what to do. Its errors are those of package flows.
type Teller interface {
	Update(ctx context.Context, o flows.Order, result any) error
	Signal(ctx context.Context, workflow, signal string, arg any) error
	// Preview runs a Preview workflow, and waits for its result.
	Preview(ctx context.Context, workflow string, in workflows.PreviewInput, result *workflows.PreviewResult) error
}

// Shelf is what workers keep for others to read.
type Shelf interface {
	// Catalog is shared: it is not to be changed.
	Catalog(ctx context.Context) (gitops.Catalog, error)
	// Record is how a rollout ended that Temporal may have forgotten.
	Record(ctx context.Context, workflow string) (workflows.RolloutStatus, error)
}

// Options are what the API is made of; all are required.
type Options struct {
	Asker   Asker
	Teller  Teller
	Shelf   Shelf
	Version string // of Tidegate
}

// server answers the API.
type server struct{ Options }

// New returns the handler of the API listener. It answers requests to a
// loopback host only, and no web page of another site.
func New(o Options) http.Handler {
	mux := http.NewServeMux()
	register(humago.New(mux, settings(o.Version)), server{o})
	return guard(mux)
}

func settings(version string) huma.Config {
	config := huma.DefaultConfig("Tidegate", version)
	config.OpenAPIPath = Prefix + "/openapi"
	config.DocsPath, config.SchemasPath = "", ""
	config.CreateHooks = nil // it would add a $schema to every answer
	config.Components.Schemas = huma.NewMapRegistry("#/components/schemas/", schemaName)
	return config
}

// schemaName tells types of one name in two packages apart.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	for _, folder := range []string{"workflows", "promotion"} {
		if strings.HasSuffix(t.PkgPath(), "/"+folder) {
			return strings.ToUpper(folder[:1]) + folder[1:] + name
		}
	}
	return name
}

// answer is a response with a body.
type answer[T any] struct{ Body T }

func register(a huma.API, s server) {
	get(a, "list-deliveries", "/deliveries", "Every Delivery and where it stands", s.listDeliveries)
	get(a, "get-delivery", "/deliveries/{project}/{name}", "Where one Delivery stands", s.getDelivery)
	get(a, "list-targets", "/targets", "Targets, by Delivery, region and stage", s.listTargets)
	get(a, "list-rollouts", "/rollouts", "The rollouts that Deliveries remember", s.listRollouts)
	get(a, "get-rollout", rolloutPath, "Everything about one rollout", s.getRollout)
	get(a, "get-catalog", "/catalog", "What is declared, and what was refused", s.getCatalog)
	post(a, "approve", rolloutPath+"/approve", "Open a gate of a rollout", s.approve)
	post(a, "reject", rolloutPath+"/reject", "Reject a rollout at a gate", s.reject)
	post(a, "abort", rolloutPath+"/abort", "End a rollout", s.abort)
	post(a, "rollback", "/deliveries/{project}/{name}/rollback", "Take a stage back to a release that was healthy there", s.rollback)
	post(a, "abandon", "/deliveries/{project}/{name}/abandon", "Leave the objects of targets that are to be deleted where they are", s.abandon)
	post(a, "sync", "/deliveries/{project}/{name}/sync", "Deliver the newest release now", s.sync)
	post(a, "preview", "/deliveries/{project}/{name}/preview", "Say what a sync would do", s.preview)
	post(a, "refresh-catalog", "/catalog/refresh", "Read the catalog again now", s.refreshCatalog)
}

const rolloutPath = "/rollouts/{project}/{name}/{stage}/{number}"

func get[I, O any](a huma.API, id, path, summary string, handler func(context.Context, *I) (*O, error)) {
	huma.Register(a, huma.Operation{OperationID: id, Method: http.MethodGet, Path: Prefix + path, Summary: summary}, handler)
}

func post[I, O any](a huma.API, id, path, summary string, handler func(context.Context, *I) (*O, error)) {
	huma.Register(a, huma.Operation{OperationID: id, Method: http.MethodPost, Path: Prefix + path, Summary: summary}, handler)
}
