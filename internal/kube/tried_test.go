package kube_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/tidegate/tidegate/internal/kube"
	"github.com/tidegate/tidegate/internal/kube/kubetest"
)

func colored(name, color string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, annotations: {}}\ndata: {color: %s}\n", name, color)
}

func TestAPlanThatIsMadeAnewAsksAgainOnlyForWhatHasChanged(t *testing.T) {
	server := kubetest.Start(t, "tried")[0]
	region := openWith(t, server, func(s *kube.Settings) { s.Version = "tried" })
	s := newScene(t, server, region, "tried")
	s.sync(t, colored("one", "blue"), colored("two", "blue"), colored("three", "blue"))
	// dryRuns are the dry-runs of a plan, and what it says of the fields.
	dryRuns := func(t *testing.T, documents ...string) (asked int, fields []string) {
		t.Helper()
		count := func() int {
			return len(server.Requests(t, func(r kubetest.Request) bool {
				return strings.HasPrefix(r.Agent, "tidegate/tried") && r.Verb == "patch" && r.Ref.Resource == "configmaps"
			}))
		}
		before := count()
		s.preflight = true
		plan := s.plan(t, documents...)
		s.preflight = false
		require.True(t, plan.Tried)
		for _, step := range plan.Steps {
			for _, group := range step.Groups {
				for _, o := range group {
					for _, f := range o.Fields {
						fields = append(fields, o.Key.Name+" "+f.String())
					}
				}
			}
		}
		return count() - before, fields
	}
	green := []string{colored("one", "green"), colored("two", "green"), colored("three", "blue")}
	want := []string{`one .data.color: "blue" -> "green"`, `two .data.color: "blue" -> "green"`}

	asked, fields := dryRuns(t, green...)
	require.Equal(t, 2, asked)
	require.Equal(t, want, fields)

	asked, fields = dryRuns(t, green...)
	require.Zero(t, asked, "nothing has changed")
	require.Equal(t, want, fields)

	_, err := server.Admin.CoreV1().ConfigMaps("tried").Patch(t.Context(), "two", types.MergePatchType, []byte(`{"data": {"color": "red"}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	asked, fields = dryRuns(t, green...)
	require.Equal(t, 1, asked, "somebody has changed one of them")
	require.Equal(t, []string{want[0], `two .data.color: "red" -> "green"`}, fields)

	asked, _ = dryRuns(t, colored("one", "white"), green[1], green[2])
	require.Equal(t, 1, asked, "another content is wanted of one of them")
}
