package catalog_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/catalog"
	"github.com/tidegate/tidegate/internal/gitops"
)

// BenchmarkLoad reads fifty ApplicationSets over a hundred regions, each
// promoted by a Pipeline: 5000 targets.
func BenchmarkLoad(b *testing.B) {
	o := options()
	o.Regions = nil
	for i := range 100 {
		o.Regions = append(o.Regions, gitops.Region{Name: fmt.Sprintf("region-%d", i)})
	}
	fsys := fstest.MapFS{}
	for i := range 50 {
		text := setOf(fmt.Sprintf("{{.name}}-%d", i), "goTemplate: true", "clusters: {}") + "---\n" + gated
		text = strings.NewReplacer("{name: us-1}", "{name: region-1}", "name: set}", fmt.Sprintf("name: set-%d}", i), "applicationSet: set", fmt.Sprintf("applicationSet: set-%d", i), "name: gated", fmt.Sprintf("name: gated-%d", i)).Replace(text)
		fsys[fmt.Sprintf("%d.yaml", i)] = &fstest.MapFile{Data: []byte(text)}
	}
	for b.Loop() {
		cat, err := catalog.LoadFS(fsys, o)
		require.NoError(b, err)
		require.Empty(b, cat.Problems)
		require.Len(b, cat.Deliveries, 50)
	}
}
