package renderer

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/tidegate/tidegate/internal/render"
)

// refuse looks for what Kustomize would fetch from elsewhere, or run, before it
// tries to.
func refuse(t *tree, references []reference) error {
	for _, r := range references {
		fault := &render.Error{Kind: render.KindRemote, File: r.file, Line: r.line}
		switch {
		case r.field == "helmCharts" || r.field == "helmChartInflationGenerator":
			fault.Kind = render.KindUnsupported
			fault.Message = r.field + " is not supported yet; render the chart into the repository, for example with helm template"
		case isRemoteFile(r.value), mayBeFolder[r.field] && isRemote(r.value) && !t.isFile(r.target()):
			fault.Message = fmt.Sprintf("%s names %s, which is not in this repository, and a render has no network; "+
				"vendor it into the repository and name its path", r.field, withoutUser(r.value))
		default:
			continue
		}
		return fault
	}
	return nil
}

func isRemoteFile(value string) bool {
	lower := strings.ToLower(value)
	return strings.HasPrefix(lower, "http://") || strings.HasPrefix(lower, "https://")
}

// remoteForm is what Kustomize takes for a Git repository.
var remoteForm = regexp.MustCompile(`(?i)^(git::)?((ssh|https?|file)://|[a-z][a-z0-9-]*@[^/]+[:/]|github\.com[/:])`)

func isRemote(value string) bool { return remoteForm.MatchString(value) }

var userInfo = regexp.MustCompile(`://[^/@]*@`)

// withoutUser keeps a password out of a message.
func withoutUser(url string) string { return userInfo.ReplaceAllString(url, "://") }
