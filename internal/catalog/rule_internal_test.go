package catalog

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryKindThatIsReadHasFields(t *testing.T) {
	for _, kind := range []string{kindApplication, kindApplicationSet, kindPipeline, kindRegion} {
		require.NotEmpty(t, schema().Kinds[kind].fields["spec"].fields, kind)
	}
	require.Equal(t, classLater, schema().Kinds[kindAppProject].class)
}

func TestNoFunctionIsBothThereAndUnavailable(t *testing.T) {
	for _, name := range unavailable {
		require.NotContains(t, templateFunctions, name)
	}
	for _, name := range []string{"upper", "default", "toYaml", "fromYaml", "normalize", "keys"} {
		require.Contains(t, templateFunctions, name)
	}
}
