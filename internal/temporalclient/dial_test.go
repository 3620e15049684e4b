package temporalclient_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc/codes"

	"github.com/tidegate/tidegate/internal/temporalclient"
)

func TestDialConnects(t *testing.T) {
	var f frontend
	f.hasNamespace.Store(true)
	c, err := temporalclient.Dial(t.Context(), temporalclient.Options{Address: f.serve(t, "127.0.0.1:0"), Logger: progress(nil)})
	require.NoError(t, err)
	c.Close()
}

func TestAClosedPortIsReportedAtOnceWithTheWayOut(t *testing.T) {
	address := closedPort(t)
	started := time.Now()
	_, err := temporalclient.Dial(t.Context(), temporalclient.Options{Address: address, Logger: progress(nil)})
	require.ErrorIs(t, err, temporalclient.ErrUnreachable)
	require.ErrorContains(t, err, address)
	require.ErrorContains(t, err, "make up")
	require.Less(t, time.Since(started), 2*time.Second)
}

func TestAMissingNamespaceIsReportedWithTheWayOut(t *testing.T) {
	var f frontend
	_, err := temporalclient.Dial(t.Context(), temporalclient.Options{Address: f.serve(t, "127.0.0.1:0"), Namespace: "fleet", Logger: progress(nil)})
	require.ErrorIs(t, err, temporalclient.ErrNoNamespace)
	require.ErrorContains(t, err, "temporal operator namespace create --namespace fleet")
}

func TestARefusalIsNotWaitedOut(t *testing.T) {
	f := frontend{refuses: codes.PermissionDenied}
	_, err := temporalclient.Dial(t.Context(), temporalclient.Options{Address: f.serve(t, "127.0.0.1:0"), Logger: progress(nil), Wait: true})
	require.ErrorContains(t, err, "refused")
	require.NotErrorIs(t, err, temporalclient.ErrUnreachable)
}

func TestADaemonWaitsUntilTemporalIsUpAndHasItsNamespace(t *testing.T) {
	address := closedPort(t)
	logged := make(progress, 1)
	type result struct {
		client.Client
		error
	}
	connected := make(chan result, 1)
	go func() {
		c, err := temporalclient.Dial(t.Context(), temporalclient.Options{Address: address, Logger: logged, Wait: true})
		connected <- result{c, err}
	}()
	require.Equal(t, "waiting for Temporal", <-logged)
	var f frontend
	f.serve(t, address)
	require.Empty(t, connected)
	f.hasNamespace.Store(true)
	got := <-connected
	require.NoError(t, got.error)
	got.Close()
}

func TestWaitingEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	logged := make(progress, 1)
	go func() {
		<-logged
		cancel()
	}()
	_, err := temporalclient.Dial(ctx, temporalclient.Options{Address: closedPort(t), Logger: logged, Wait: true})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, temporalclient.ErrUnreachable)
}
