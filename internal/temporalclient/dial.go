// Package temporalclient connects to Temporal and says in plain words why it cannot.
package temporalclient

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
)

const (
	// attemptTimeout is how long one attempt to connect may take.
	attemptTimeout = 5 * time.Second
	// The pause between attempts doubles from the first to the last.
	firstPause, lastPause = 250 * time.Millisecond, 5 * time.Second
	// logEvery is how often waiting is logged, so that a daemon that hangs says at what.
	logEvery = 10 * time.Second
)

var (
	// ErrUnreachable means that nothing answers at the address.
	ErrUnreachable = errors.New("nothing answers")
	// ErrNoNamespace means that Temporal answers, but does not have the namespace.
	ErrNoNamespace = errors.New("the namespace does not exist")
)

// Options say which Temporal to connect to.
type Options struct {
	// Address is host:port of the frontend; localhost:7233 when empty.
	Address string
	// Namespace must exist already; "default" when empty.
	Namespace string
	// Identity names this process in histories; pid@host when empty.
	Identity string
	// Logger gets what the SDK logs and the progress of waiting. Required.
	Logger log.Logger
	// Metrics gets the SDK's metrics; nil drops them.
	Metrics client.MetricsHandler
	// TLS is nil for a connection in the clear.
	TLS *tls.Config
	// Wait makes Dial wait until Temporal is up and has the namespace, as a daemon should that starts together with it.
	Wait bool
}

// Dial connects, and checks that the namespace is there. Its error is ErrUnreachable, ErrNoNamespace, or what Temporal
// answered; with o.Wait the first two are waited out, until ctx ends. Close the client when done.
func Dial(ctx context.Context, o Options) (client.Client, error) {
	if o.Address == "" {
		o.Address = client.DefaultHostPort
	}
	if o.Namespace == "" {
		o.Namespace = client.DefaultNamespace
	}
	if o.Wait {
		return dialUntilUp(ctx, o)
	}
	c, err := attempt(ctx, o)
	if err != nil {
		return nil, explain(o, err)
	}
	return c, nil
}

func dialUntilUp(ctx context.Context, o Options) (client.Client, error) {
	started, logged := time.Now(), time.Time{}
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		c, err := attempt(ctx, o)
		if err == nil {
			return c, nil
		}
		if ctx.Err() != nil {
			return nil, errors.Join(ctx.Err(), explain(o, err))
		}
		if !errors.Is(err, ErrUnreachable) && !errors.Is(err, ErrNoNamespace) {
			return nil, explain(o, err)
		}
		if time.Since(logged) >= logEvery {
			logged = time.Now()
			o.Logger.Info("waiting for Temporal", "address", o.Address, "namespace", o.Namespace,
				"waited", time.Since(started).Round(time.Second).String(), "cause", err.Error())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), explain(o, err))
		case <-time.After(pause):
		}
	}
}

func attempt(ctx context.Context, o Options) (client.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	if err := probe(ctx, o.Address); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	c, err := client.DialContext(ctx, client.Options{
		HostPort: o.Address, Namespace: o.Namespace, Identity: o.Identity, Logger: o.Logger, MetricsHandler: o.Metrics,
		ConnectionOptions: client.ConnectionOptions{TLS: o.TLS, GrpcCompression: compression(o.Address)},
	})
	if err != nil {
		return nil, classify(err)
	}
	if err := checkNamespace(ctx, c, o.Namespace); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// checkNamespace makes a wrong namespace an error of the start; the SDK would only find it at the first workflow.
func checkNamespace(ctx context.Context, c client.Client, namespace string) error {
	_, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	var missing *serviceerror.NamespaceNotFound
	var denied *serviceerror.PermissionDenied
	switch {
	case errors.As(err, &missing):
		return ErrNoNamespace
	case err == nil, errors.As(err, &denied): // a worker need not have the right to look at namespaces
		return nil
	}
	return classify(err)
}

func classify(err error) error {
	var unavailable *serviceerror.Unavailable
	var late *serviceerror.DeadlineExceeded
	if errors.As(err, &unavailable) || errors.As(err, &late) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return err
}

// explain adds the way out.
func explain(o Options, err error) error {
	switch {
	case errors.Is(err, ErrUnreachable):
		return fmt.Errorf("connect to Temporal at %s: %w; start it with `make up` (or `temporal server start-dev`), or set the address of yours",
			o.Address, err)
	case errors.Is(err, ErrNoNamespace):
		return fmt.Errorf("connect to Temporal at %s: namespace %q: %w; make it with `temporal operator namespace create --namespace %s`",
			o.Address, o.Namespace, err, o.Namespace)
	}
	return fmt.Errorf("connect to Temporal at %s: %w", o.Address, err)
}

// compression is none on this machine, where it costs time and saves nothing.
func compression(address string) client.GrpcCompression {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return &client.GrpcCompressionGzip{}
	}
	if ip, err := netip.ParseAddr(host); host == "localhost" || err == nil && ip.IsLoopback() {
		return &client.GrpcCompressionNone{}
	}
	return &client.GrpcCompressionGzip{}
}
