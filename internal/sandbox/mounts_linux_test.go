package sandbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/sandbox"
)

func TestASlotFindsItsMountsAndCanOnlyReadThem(t *testing.T) {
	n := native(t, sandbox.Options{Idle: 1})
	values, charts := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(values, "a"), []byte("of values"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(charts, "a"), []byte("of charts"), 0o600))
	mounts := []sandbox.Mount{{Name: "values", Dir: values}, {Name: "charts", Dir: charts}}
	for attempt, want := range map[string]string{
		"read /mounts/values/a":                       "^done: of values",
		"read /mounts/charts/a":                       "^done: of charts",
		"write /mounts/values/b":                      "^refused: ",
		"read /mounts/values/../../etc/passwd":        "^refused: ",
		"read /mounts/values/" + "../../../" + values: "^refused: ",
	} {
		result, err := n.Run(t.Context(), sandbox.Job{Stdin: []byte(attempt), Dir: t.TempDir(), Mounts: mounts})
		require.NoError(t, err, attempt)
		require.Regexp(t, want, string(result.Output), attempt)
	}
	_, err := n.Run(t.Context(), sandbox.Job{Stdin: []byte("read a"), Dir: t.TempDir(), Mounts: []sandbox.Mount{{Name: "../x", Dir: values}}})
	require.ErrorIs(t, err, sandbox.ErrStart)
}

func TestAJobMayHaveManyMountsBesideItsTools(t *testing.T) {
	n := native(t, sandbox.Options{Idle: 1})
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), []byte("x"), 0o600))
	var mounts []sandbox.Mount
	for i := range sandbox.MaxMounts {
		mounts = append(mounts, sandbox.Mount{Name: fmt.Sprint("m", i), Dir: dir})
	}
	result, err := n.Run(t.Context(), sandbox.Job{Dir: dir, Mounts: mounts, Commands: []sandbox.Command{{"sh", "-c", "cat $TIDEGATE_MOUNTS/*/a | wc -c"}}})
	require.NoError(t, err)
	require.Equal(t, fmt.Sprint(sandbox.MaxMounts), strings.TrimSpace(string(result.Output)))
	_, err = n.Run(t.Context(), sandbox.Job{Dir: dir, Mounts: append(mounts, sandbox.Mount{Name: "more", Dir: dir})})
	require.ErrorIs(t, err, sandbox.ErrStart)
}
