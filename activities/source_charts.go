package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tidegate/tidegate/internal/artifact"
	"github.com/tidegate/tidegate/internal/charts"
	"github.com/tidegate/tidegate/internal/gitops"
)

// head is where a ref stands: a commit of a Git repository, fetched, or a version
// of a chart.
func (s *Source) head(ctx context.Context, f followers, ref gitops.Ref) (string, error) {
	if f.chart != "" {
		return s.version(ctx, SourceAt{RepoURL: f.url, Chart: f.chart, Ref: ref})
	}
	head, err := s.Mirrors.Resolve(ctx, f.url, ref.Revision)
	if err == nil {
		err = s.Mirrors.Fetch(ctx, f.url, head)
	}
	if err == nil {
		err = s.verify(ctx, f.url, ref.Repository, head.Commit)
	}
	return head.Commit, err
}

// version is the version that a chart's revision means now.
func (s *Source) version(ctx context.Context, at SourceAt) (string, error) {
	source, err := chartSource(at)
	if err != nil {
		return "", err
	}
	version, err := s.Charts.Resolve(ctx, source, at.Revision)
	if err != nil {
		return "", err
	}
	return version.String(), nil
}

func chartSource(at SourceAt) (gitops.ChartSource, error) {
	chart := at.Chart
	if gitops.IsOCI(at.RepoURL) {
		if whole, err := gitops.ParseChartSource(at.RepoURL, ""); err == nil && whole.Identity == at.Repository {
			chart = "" // the URL names the chart itself
		}
	}
	source, err := gitops.ParseChartSource(at.RepoURL, chart)
	if err != nil {
		return source, &charts.Error{Kind: charts.KindURL, Chart: at.Repository, Reason: err.Error()}
	}
	return source, nil
}

// pull keeps the tree of a chart's version as an artifact. A version that was
// pulled before is there still, unless it was swept.
func (s *Source) pull(ctx context.Context, at SourceAt) (digest string, err error) {
	name := "chart/" + at.Repository + "@" + at.Commit
	found, err := s.Blobs.namedJSON(ctx, name, &digest)
	if err != nil {
		return "", fmt.Errorf("look for %s: %w", name, err)
	}
	if found {
		data, err := s.Blobs.Get(ctx, digest)
		if err == nil {
			_, err = s.Blobs.Put(ctx, "checkout", data) // young again
			return digest, err
		}
		if !errors.Is(err, artifact.ErrNotFound) && !errors.Is(err, artifact.ErrDamaged) {
			return "", fmt.Errorf("read %s: %w", name, err)
		}
	}
	source, err := chartSource(at)
	if err != nil {
		return "", err
	}
	version, err := charts.ParseVersion(at.Commit)
	if err != nil {
		return "", err
	}
	tree, err := s.Charts.Pull(ctx, source, version)
	if err != nil {
		return "", err
	}
	if digest, err = s.Blobs.Put(ctx, "checkout", tree); err != nil {
		return "", fmt.Errorf("keep %s: %w", name, err)
	}
	return digest, s.Blobs.setNamedJSON(ctx, name, digest)
}

// chartsOf lists the charts of a catalog.
func chartsOf(cat gitops.Catalog) []SourceAt {
	return sourcesOf(cat, func(s gitops.Source) bool { return s.Chart != "" })
}

// pollCharts asks the repositories of charts which versions they have, but not as
// often as Git is asked: their answers are large. A version that is named exactly
// is only looked for while it is not there.
func (s *Source) pollCharts(ctx context.Context, followed []SourceAt) ([]Moved, error) {
	s.mu.Lock()
	due := time.Since(s.charted) >= s.PollChartsEvery
	if due {
		s.charted = time.Now()
	}
	s.mu.Unlock()
	var moved []Moved
	for _, at := range followed {
		if !due {
			break
		}
		noted, err := s.noted(ctx, at.Ref)
		if err != nil {
			return nil, err
		}
		if charts.IsExact(at.Revision) && !noted.Missing {
			continue
		}
		version, err := s.version(ctx, at)
		switch {
		case err == nil && (noted.Missing || version != noted.Commit):
			moved = append(moved, Moved{Ref: at.Ref, Commit: version})
		case isUserError(err) && !noted.Missing:
			moved = append(moved, Moved{Ref: at.Ref})
		}
	}
	return moved, nil
}

// has says whether a hinted commit has been seen. Charts have no hints.
func (s *Source) has(ctx context.Context, f followers, commit string) (bool, error) {
	if f.chart != "" {
		return true, nil
	}
	return s.Mirrors.Has(ctx, f.url, commit)
}
