// Package stacktest starts local stacks for tests.
package stacktest

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/deploy/local/stack"
)

// Start starts a stack that ends with the test, in a folder of the test unless Options.Dir names another, with free ports.
// Where the stack's programs have not been built, the test is skipped; in continuous integration (variable CI) it fails.
func Start(t testing.TB, o stack.Options) *stack.Stack {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	s, err := stack.Start(t.Context(), o)
	Require(t, err)
	t.Cleanup(func() { require.NoError(t, s.Stop()) })
	return s
}

// StartMain is Start for a TestMain, for the tests of a package to share one stack. Without the stack's programs it returns
// an error that the tests hand to Require.
func StartMain(ctx context.Context, o stack.Options) (s *stack.Stack, stop func(), err error) {
	dir, err := os.MkdirTemp("", "tidegate-stack-")
	if err != nil {
		return nil, nil, err
	}
	o.Dir = dir
	s, err = stack.Start(ctx, o)
	if err != nil {
		return nil, func() { _ = os.RemoveAll(dir) }, err
	}
	return s, func() { _ = s.Stop(); _ = os.RemoveAll(dir) }, nil
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
