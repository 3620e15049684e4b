package sandbox

import (
	"testing"

	"github.com/elastic/go-seccomp-bpf/arch"
	"github.com/stretchr/testify/require"
)

// The filter cannot be loaded where one of its names is unknown.
func TestEveryAllowedCallExistsOnEachArchitecture(t *testing.T) {
	for name, stat := range statCalls {
		info, err := arch.GetInfo(name)
		require.NoError(t, err)
		for _, call := range append([]string{stat}, handlerCalls...) {
			_, ok := info.SyscallNames[call]
			require.True(t, ok, "%s on %s", call, name)
		}
	}
}
