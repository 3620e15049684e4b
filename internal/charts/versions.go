package charts

import (
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/spelling"
)

const nearbyCount = 5

// IsExact says whether a revision names one version, which never means another.
func IsExact(revision string) bool {
	_, err := semver.StrictNewVersion(strings.TrimPrefix(revision, "v"))
	return err == nil || strings.HasPrefix(revision, "sha256:")
}

// choose picks the version that a revision means: the one that is called so, else
// the highest of a range. As in Helm, a range has pre-releases in it only when it
// names one.
func choose(source gitops.ChartSource, revision string, versions []string) (string, error) {
	if slices.Contains(versions, revision) {
		return revision, nil
	}
	constraint, err := semver.NewConstraint(revision)
	if err != nil {
		return "", none(source, fmt.Sprintf("there is no version %q, and it is no range of versions", revision), revision, versions)
	}
	var best *semver.Version
	var name string
	for _, v := range versions {
		parsed, err := semver.NewVersion(v)
		if err == nil && constraint.Check(parsed) && (best == nil || parsed.GreaterThan(best)) {
			best, name = parsed, v
		}
	}
	if best == nil {
		return "", none(source, fmt.Sprintf("no version is in %q", revision), revision, versions)
	}
	return name, nil
}

func none(source gitops.ChartSource, reason, revision string, versions []string) error {
	return &Error{Kind: KindMissing, Chart: source.Identity, Reason: reason, Nearby: spelling.Closest(revision, versions, nearbyCount)}
}
