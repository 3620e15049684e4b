package activities

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/render"
)

func className(region string) string { return "class/" + region }

// PublishClass notes what a region is like, for whoever renders charts for it.
func (b Blobs) PublishClass(ctx context.Context, region string, class gitops.RegionClass) error {
	if err := b.setNamedJSON(ctx, className(region), class); err != nil {
		return fmt.Errorf("publish what region %s serves: %w", region, err)
	}
	return nil
}

// classEvery is the pause before a class that is not there yet is looked for again.
const classEvery = 100 * time.Millisecond

// regionClass returns what a region is like. One that nobody has noted yet is waited
// for: its worker may be starting. The class of a region that stays silent is
// empty, which stands for Helm's own idea of a cluster.
func (r *Renderer) regionClass(ctx context.Context, region string) (class gitops.RegionClass, err error) {
	ticker := time.NewTicker(classEvery)
	defer ticker.Stop()
	patience := time.NewTimer(r.ClassPatience)
	defer patience.Stop()
	for {
		found, err := r.Blobs.namedJSON(ctx, className(region), &class)
		if err != nil {
			return class, fmt.Errorf("look what region %s serves: %w", region, err)
		}
		if found {
			return class, nil
		}
		select {
		case <-ticker.C:
		case <-patience.C:
			return class, nil
		case <-ctx.Done():
			return class, ctx.Err()
		}
	}
}

// releaseOf is what a chart learns about a target; nothing when it is no chart,
// so that targets which differ only in that share a render.
func (r *Renderer) releaseOf(ctx context.Context, t gitops.Target, s gitops.Source, tree string) (release render.Release, err error) {
	if s.Helm == nil && !hasChart(filepath.Join(tree, filepath.FromSlash(s.Path))) {
		return release, nil
	}
	class, err := r.regionClass(ctx, t.Region)
	release = render.Release{Name: t.Name, Namespace: t.Namespace, KubeVersion: class.KubeVersion, APIVersions: class.APIVersions}
	if h := s.Helm; h != nil {
		// What the options say already does not make one more render of it.
		release.Name, release.Namespace = cmp.Or(h.ReleaseName, release.Name), cmp.Or(h.Namespace, release.Namespace)
		release.KubeVersion = cmp.Or(h.KubeVersion, release.KubeVersion)
		if len(h.APIVersions) > 0 {
			release.APIVersions = h.APIVersions
		}
	}
	return release, err
}

func hasChart(folder string) bool {
	info, err := os.Lstat(filepath.Join(folder, "Chart.yaml"))
	return err == nil && !info.IsDir()
}
