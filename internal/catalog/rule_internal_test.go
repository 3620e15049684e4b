package catalog

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEverySyncOptionHasAKnownClass(t *testing.T) {
	require.NotEmpty(t, schema().SyncOptions)
	for option, values := range schema().SyncOptions {
		for value, text := range values {
			class, _ := splitClass(text)
			require.Contains(t, []string{classKept, classHarmless, classLater}, class, "%s=%s", option, value)
		}
	}
}

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
