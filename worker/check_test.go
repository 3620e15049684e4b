package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/sandbox"
)

func TestACheckIsShownAndEndsBadlyWhenSomethingIsMissing(t *testing.T) {
	good := []sandbox.Finding{{Name: "root", State: sandbox.StateOK}, {Name: "Landlock", State: sandbox.StateDegraded, Detail: "none", Remedy: "boot with it"}}
	var out strings.Builder
	require.NoError(t, showCheck(&out, "table", good))
	require.Contains(t, out.String(), "Landlock  degraded  none")
	require.Contains(t, out.String(), "Landlock: boot with it")
	require.Contains(t, out.String(), "securityContext")

	bad := append(good, sandbox.Finding{Name: "pids cgroup", State: sandbox.StateMissing, Remedy: "mount it"})
	out.Reset()
	require.ErrorIs(t, showCheck(&out, "table", bad), errUnconfined)
	require.Contains(t, out.String(), "securityContext")
	out.Reset()
	require.ErrorIs(t, showCheck(&out, "json", bad), errUnconfined)
	var shown struct{ Findings []sandbox.Finding }
	require.NoError(t, json.Unmarshal([]byte(out.String()), &shown))
	require.Equal(t, bad, shown.Findings)
	require.ErrorContains(t, showCheck(&out, "xml", good), "table or json")
}
