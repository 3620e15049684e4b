// Package stacktest starts local stacks for tests.
package stacktest

import (
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/deploy/local/stack"
)

// Start starts a stack that ends with the test, in a folder of the test unless Options.Dir names another, with free ports.
// Under -short the test is skipped; so it is where the stack's programs have not been built, but in continuous integration
// (variable CI) that fails it.
func Start(t testing.TB, o stack.Options) *stack.Stack {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: starts no servers")
	}
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	s, err := stack.Start(t.Context(), o)
	Require(t, err)
	t.Cleanup(func() { require.NoError(t, s.Stop()) })
	return s
}

// Require fails the test on an error; it skips it instead when the error is that the stack's programs have not been built
// and this is not continuous integration.
func Require(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, stack.ErrMissingTool) && os.Getenv("CI") == "" { //nolint:forbidigo // asks where the test runs, not how
		t.Skip(err)
	}
	require.NoError(t, err)
}
