package temporalclient_test

import (
	"context"
	"maps"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/log"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// frontend is the part of Temporal's frontend that connecting needs, on a real port, with faults at will.
type frontend struct {
	workflowservice.UnimplementedWorkflowServiceServer
	operatorservice.UnimplementedOperatorServiceServer
	hasNamespace atomic.Bool
	refuses      codes.Code // of every call to GetSystemInfo

	mu         sync.Mutex
	attributes map[string]enums.IndexedValueType
	rival      map[string]enums.IndexedValueType // registered by another process just before the first add
	adds       int
}

// serve answers at address until the test ends, and returns the address.
func (f *frontend) serve(t *testing.T, address string) string {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
	require.NoError(t, err)
	server := grpc.NewServer()
	workflowservice.RegisterWorkflowServiceServer(server, f)
	operatorservice.RegisterOperatorServiceServer(server, f)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		require.NoError(t, <-ended)
	})
	return listener.Addr().String()
}

// closedPort is an address at which nothing listens.
func closedPort(t *testing.T) string {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	return listener.Addr().String()
}

func (f *frontend) GetSystemInfo(context.Context, *workflowservice.GetSystemInfoRequest) (*workflowservice.GetSystemInfoResponse, error) {
	if f.refuses != codes.OK {
		return nil, status.Error(f.refuses, "refused")
	}
	return &workflowservice.GetSystemInfoResponse{}, nil
}

func (f *frontend) DescribeNamespace(_ context.Context, r *workflowservice.DescribeNamespaceRequest) (*workflowservice.DescribeNamespaceResponse, error) {
	if !f.hasNamespace.Load() {
		return nil, serviceerror.NewNamespaceNotFound(r.GetNamespace()).(*serviceerror.NamespaceNotFound).Status().Err() //nolint:errorlint // it was made a moment ago
	}
	return &workflowservice.DescribeNamespaceResponse{}, nil
}

func (f *frontend) ListSearchAttributes(context.Context, *operatorservice.ListSearchAttributesRequest) (*operatorservice.ListSearchAttributesResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &operatorservice.ListSearchAttributesResponse{CustomAttributes: maps.Clone(f.attributes)}, nil
}

func (f *frontend) AddSearchAttributes(_ context.Context, r *operatorservice.AddSearchAttributesRequest) (*operatorservice.AddSearchAttributesResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.adds++
	maps.Copy(f.attributes, f.rival)
	f.rival = nil
	for name := range r.GetSearchAttributes() {
		if _, ok := f.attributes[name]; ok {
			return nil, status.Error(codes.AlreadyExists, name)
		}
	}
	maps.Copy(f.attributes, r.GetSearchAttributes())
	return &operatorservice.AddSearchAttributesResponse{}, nil
}

// progress is a logger that hands over the progress messages.
type progress chan string

func (p progress) Info(msg string, _ ...any) {
	select {
	case p <- msg:
	default:
	}
}
func (progress) Debug(string, ...any) {}
func (progress) Warn(string, ...any)  {}
func (progress) Error(string, ...any) {}

var _ log.Logger = progress(nil)
