package sandbox_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/sandbox"
)

func TestACheckSaysWhatThisHostOffers(t *testing.T) {
	program := needNative(t)
	for _, f := range sandbox.Check(sandbox.Options{Program: program}) {
		require.NotEqual(t, sandbox.StateMissing, f.State, "%s: %s", f.Name, f.Detail)
	}
}

func TestACheckNamesWhatIsMissingAndTheWayOut(t *testing.T) {
	findings := sandbox.Check(sandbox.Options{Program: "/there/is/no/such/program"})
	last := findings[len(findings)-1]
	require.Equal(t, sandbox.StateMissing, last.State)
	require.Contains(t, last.Detail, "/there/is/no/such/program")
	for _, f := range findings {
		require.Equal(t, f.State != sandbox.StateOK, f.Remedy != "", f.Name)
	}
}
