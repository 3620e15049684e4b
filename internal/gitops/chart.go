package gitops

import (
	"errors"
	"net/url"
	"path"
	"strings"
)

// ChartSource is where a chart is pulled from, taken apart once.
type ChartSource struct {
	// Identity is host[:port]/path#chart, which no Git repository has.
	Identity string
	OCI      bool
	// Repository is a Helm repository's URL, or host/path/chart in a registry.
	Repository string
	Chart      string
}

// IsOCI says whether a repository's URL can only be one of an OCI registry.
func IsOCI(repoURL string) bool { return strings.HasPrefix(repoURL, "oci://") }

// ParseChartSource reads the URL of a Helm repository (https://host/path) or of
// an OCI registry (oci://host/path, or host/path as Argo CD has it), and the name
// of a chart in it. A registry's URL may name the chart itself; chart is empty
// then. The error never repeats the URL, which may hold a password.
func ParseChartSource(repoURL, chart string) (ChartSource, error) {
	if err := checkCharacters(repoURL); err != nil {
		return ChartSource{}, err
	}
	raw := repoURL
	if !strings.Contains(raw, "://") {
		raw = "oci://" + raw
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "":
		return ChartSource{}, errors.New("not the URL of charts; write it as https://host/path or oci://host/path")
	case u.User != nil:
		return ChartSource{}, errors.New("a URL of charts holds no user; write it into the settings' git.credentials")
	case u.RawQuery != "" || u.Fragment != "":
		return ChartSource{}, errors.New("a URL of charts has no ? or # part; remove it")
	}
	s := ChartSource{OCI: u.Scheme == "oci", Chart: chart}
	switch {
	case !s.OCI && u.Scheme != "https" && u.Scheme != "http":
		return ChartSource{}, errors.New("charts come from https://, http:// or oci:// only")
	case s.OCI && chart == "":
		u.Path, s.Chart = path.Split(strings.TrimSuffix(u.Path, "/"))
	}
	if s.Chart == "" || strings.ContainsAny(s.Chart, "#@:?\\ ") || path.Clean("/"+s.Chart) != "/"+s.Chart {
		return ChartSource{}, errors.New("the name of the chart is missing, or none that a chart can have")
	}
	place := strings.TrimSuffix(strings.ToLower(u.Host)+u.Path, "/")
	s.Identity = place + "#" + s.Chart
	if s.Repository = strings.TrimSuffix(u.String(), "/"); s.OCI {
		s.Repository = place + "/" + s.Chart
	}
	return s, nil
}
