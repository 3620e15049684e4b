package sandbox_test

import (
	"os"
	"path/filepath"
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
