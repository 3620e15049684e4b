package waves_test

import (
	"bufio"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/waves"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// A case is a list of objects, one a line: [phase:]wave group/Kind namespace/name
// [defines group/Kind]; "-" is an empty part. The golden file shows the steps.
func TestOrder(t *testing.T) {
	files, err := filepath.Glob("testdata/*.in")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".in"), func(t *testing.T) {
			items := read(t, file)
			got := "apply\n" + show(items, waves.Order(items)) + "delete\n" + show(items, waves.Reverse(items))
			golden := strings.TrimSuffix(file, ".in") + ".golden"
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o600))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), got)

			r := rand.New(rand.NewPCG(1, 2))
			for range 50 {
				r.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
				again := "apply\n" + show(items, waves.Order(items)) + "delete\n" + show(items, waves.Reverse(items))
				require.Equal(t, got, again, "the order depends on the order of the input")
			}
		})
	}
}

func TestNothingHasNoSteps(t *testing.T) {
	require.Empty(t, waves.Order(nil))
	require.Empty(t, waves.Reverse(nil))
}

func read(t *testing.T, file string) []waves.Item {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	var items []waves.Item
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || fields[0] == "#" {
			continue
		}
		phase, number, hasPhase := strings.Cut(fields[0], ":")
		if !hasPhase {
			phase, number = string(gitops.Sync), phase
		}
		wave, err := strconv.Atoi(number)
		require.NoError(t, err)
		group, kind := pair(fields[1])
		namespace, name := pair(fields[2])
		it := waves.Item{Phase: gitops.StepPhase(phase), Wave: wave, Key: gitops.ObjectKey{Group: group, Kind: kind, Namespace: namespace, Name: name}}
		if len(fields) > 4 {
			g, k := pair(fields[4])
			it.Defines = schema.GroupKind{Group: g, Kind: k}
		}
		items = append(items, it)
	}
	return items
}

func pair(s string) (string, string) {
	a, b, _ := strings.Cut(s, "/")
	return strings.TrimPrefix(a, "-"), b
}

func show(items []waves.Item, steps []waves.Step) string {
	var b strings.Builder
	for _, s := range steps {
		fmt.Fprintf(&b, "  %s wave %d\n", s.Phase, s.Wave)
		for _, g := range s.Groups {
			names := make([]string, 0, len(g))
			for _, i := range g {
				names = append(names, items[i].Key.String())
			}
			fmt.Fprintf(&b, "    %s\n", strings.Join(names, ", "))
		}
	}
	return b.String()
}
