package temporalclient_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"

	"github.com/tidegate/tidegate/internal/temporalclient"
)

var wanted = map[string]enums.IndexedValueType{
	"TidegateProject": enums.INDEXED_VALUE_TYPE_KEYWORD,
	"TidegateRelease": enums.INDEXED_VALUE_TYPE_INT,
	"TidegateTargets": enums.INDEXED_VALUE_TYPE_KEYWORD_LIST,
}

// dialFake connects to a frontend that has these attributes.
func dialFake(t *testing.T, f *frontend) client.Client {
	f.hasNamespace.Store(true)
	c, err := temporalclient.Dial(t.Context(), temporalclient.Options{Address: f.serve(t, "127.0.0.1:0"), Logger: progress(nil)})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func TestOnlyMissingSearchAttributesAreRegistered(t *testing.T) {
	f := frontend{attributes: map[string]enums.IndexedValueType{
		"TidegateProject": enums.INDEXED_VALUE_TYPE_KEYWORD, "Other": enums.INDEXED_VALUE_TYPE_TEXT,
	}}
	c := dialFake(t, &f)
	for range 2 {
		require.NoError(t, temporalclient.EnsureSearchAttributes(t.Context(), c, "default", wanted))
	}
	require.Len(t, f.attributes, 4)
	require.Equal(t, 1, f.adds)
}

func TestARivalThatRegistersOneAtTheSameTimeIsNoError(t *testing.T) {
	f := frontend{
		attributes: map[string]enums.IndexedValueType{},
		rival:      map[string]enums.IndexedValueType{"TidegateRelease": enums.INDEXED_VALUE_TYPE_INT},
	}
	require.NoError(t, temporalclient.EnsureSearchAttributes(t.Context(), dialFake(t, &f), "default", wanted))
	require.Equal(t, wanted, f.attributes)
}

func TestASearchAttributeOfAnotherTypeIsLeftAndReported(t *testing.T) {
	f := frontend{attributes: map[string]enums.IndexedValueType{"TidegateRelease": enums.INDEXED_VALUE_TYPE_TEXT}}
	err := temporalclient.EnsureSearchAttributes(t.Context(), dialFake(t, &f), "default", wanted)
	require.ErrorContains(t, err, "TidegateRelease is a Text and must be a Int")
	require.Zero(t, f.adds)
}

func TestARealTemporalTakesTheSearchAttributes(t *testing.T) {
	binary, err := exec.LookPath("temporal")
	if err != nil {
		binary, err = exec.LookPath(filepath.Join("..", "..", ".local", "bin", "temporal"))
	}
	if err != nil {
		t.Skip("there is no temporal command on PATH or in .local/bin")
	}
	server, err := testsuite.StartDevServer(t.Context(), testsuite.DevServerOptions{ExistingPath: binary, LogLevel: "error"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop()) })
	c, err := temporalclient.Dial(t.Context(), temporalclient.Options{Address: server.FrontendHostPort(), Logger: progress(nil), Wait: true})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	for range 2 {
		require.NoError(t, temporalclient.EnsureSearchAttributes(t.Context(), c, "default", wanted))
	}
	changed := map[string]enums.IndexedValueType{"TidegateProject": enums.INDEXED_VALUE_TYPE_INT}
	require.ErrorContains(t, temporalclient.EnsureSearchAttributes(t.Context(), c, "default", changed), "TidegateProject is a Keyword")
	_, err = temporalclient.Dial(t.Context(), temporalclient.Options{Address: server.FrontendHostPort(), Namespace: "none", Logger: progress(nil)})
	require.ErrorIs(t, err, temporalclient.ErrNoNamespace)
}
