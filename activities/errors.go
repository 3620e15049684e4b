package activities

import (
	"context"
	"errors"

	"go.temporal.io/sdk/temporal"

	"github.com/tidegate/tidegate/internal/artifact"
	"github.com/tidegate/tidegate/internal/charts"
	"github.com/tidegate/tidegate/internal/git"
	"github.com/tidegate/tidegate/internal/kube"
	"github.com/tidegate/tidegate/internal/manifest"
)

// Types of the errors that activities return: what a workflow, a metric or a
// person tells them apart by. They are part of recorded histories: a type may be
// added, never renamed.
const (
	ErrorInvalid           = "Invalid"           // what Git says cannot be delivered
	ErrorNotSupported      = "NotSupported"      // of older histories: Git asked for something that Tidegate did not do
	ErrorRefused           = "Refused"           // it would touch what it must not
	ErrorForbidden         = "Forbidden"         // the region does not let us
	ErrorFenced            = "Fenced"            // a newer rollout or attempt has taken over
	ErrorRegionUnreachable = "RegionUnreachable" // the region does not answer
	ErrorArtifactLost      = "ArtifactLost"      // stored bytes are gone or damaged
	ErrorTooLarge          = "TooLarge"          // more than the artifact store takes
	ErrorGitURL            = "GitURL"
	ErrorGitAuth           = "GitAuth"
	ErrorGitRepository     = "GitRepository"
	ErrorGitRevision       = "GitRevision"
	ErrorGitPath           = "GitPath"
	ErrorGitContent        = "GitContent"
	ErrorChart             = "Chart"        // a chart that is not there, or wants a password
	ErrorChartContent      = "ChartContent" // a chart that is refused as it is
	ErrorUnknown           = "Unknown"
)

// classes says of every error that is told apart what its type is, and whether
// trying again is of no use: here and nowhere else. The first that matches counts;
// what matches none is retried.
var classes = []struct {
	cause error
	kind  string
	final bool
}{
	{kube.ErrFenced, ErrorFenced, true},
	{kube.ErrUnreachable, ErrorRegionUnreachable, false},
	{kube.ErrRefused, ErrorRefused, true},
	{kube.ErrForbidden, ErrorForbidden, true},
	{manifest.ErrInvalid, ErrorInvalid, true},
	{artifact.ErrNotFound, ErrorArtifactLost, true},
	{artifact.ErrDamaged, ErrorArtifactLost, true},
	{artifact.ErrTooLarge, ErrorTooLarge, true},
	{charts.KindURL, ErrorChartContent, true},
	{charts.KindContent, ErrorChartContent, true},
	{charts.KindRefused, ErrorChartContent, true},
	{charts.KindAuth, ErrorChart, false},
	{charts.KindMissing, ErrorChart, false},
	{git.KindURL, ErrorGitURL, true},
	{git.KindPath, ErrorGitPath, true},
	{git.KindContent, ErrorGitContent, true},
	{git.KindSignature, ErrorGitContent, true},
	// These mend themselves, or by somebody's hand, without a change in Git.
	{git.KindAuth, ErrorGitAuth, false},
	{git.KindRepository, ErrorGitRepository, false},
	{git.KindRevision, ErrorGitRevision, false},
}

// classify gives an error the type that workflows see, and says whether it is
// retried. The end of the activity's context passes as it is: Temporal knows why.
func classify(err error) error {
	var application *temporal.ApplicationError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &application), errors.Is(err, context.Canceled):
		return err
	}
	kind, final := classOf(err)
	return temporal.NewApplicationErrorWithOptions(clip(err.Error()), kind, temporal.ApplicationErrorOptions{NonRetryable: final})
}

func classOf(err error) (kind string, final bool) {
	for _, c := range classes {
		if errors.Is(err, c.cause) {
			return c.kind, c.final
		}
	}
	return ErrorUnknown, false
}

// maxMessage keeps what goes into a history small.
const maxMessage = 4 << 10

func clip(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return message[:maxMessage] + " …"
}
