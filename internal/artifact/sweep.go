package artifact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// MinGrace is the shortest grace that Sweep accepts: with less, it could take an object that a Put just relied on.
const MinGrace = 2 * refreshAfter

// Swept says what a sweep removed.
type Swept struct {
	Objects int
	Bytes   int64 // as stored: compressed and encrypted
}

// Sweep removes the artifacts, and the remains of interrupted writes, that were last put longer than grace ago and that
// keep does not want. Grace must exceed the longest time between putting an artifact and keep knowing it, which is that
// of the longest activity, and MinGrace. Named objects are never swept. What was removed before an error stays removed.
func (s *Store) Sweep(ctx context.Context, grace time.Duration, keep func(Digest) bool) (Swept, error) {
	var swept Swept
	if grace < MinGrace {
		return swept, fmt.Errorf("sweep artifacts: a grace of %s is too short, at least %s", grace, MinGrace)
	}
	before := s.now().Add(-grace)
	objects := s.bucket.List(&blob.ListOptions{Prefix: blobFolder})
	for {
		o, err := objects.Next(ctx)
		if errors.Is(err, io.EOF) {
			return swept, nil
		}
		if err != nil {
			return swept, fmt.Errorf("sweep artifacts: %w", err)
		}
		d, isArtifact := digestOf(o.Key)
		isRemains := !isArtifact && strings.HasSuffix(o.Key, ".tmp")
		if !o.ModTime.Before(before) || !isRemains && (!isArtifact || keep(d)) {
			continue
		}
		removed, err := s.removeIfOld(ctx, o.Key, before)
		if err != nil {
			return swept, fmt.Errorf("sweep artifact %s: %w", o.Key, err)
		}
		if removed {
			s.known.remove(d)
			swept.Objects++
			swept.Bytes += o.Size
		}
	}
}

// removeIfOld looks again before it deletes: a listing may be minutes old, and a Put may have made the object young.
func (s *Store) removeIfOld(ctx context.Context, object string, before time.Time) (bool, error) {
	attrs, err := s.bucket.Attributes(ctx, object)
	if err == nil && attrs.ModTime.Before(before) {
		err = s.bucket.Delete(ctx, object)
		return err == nil, ignoreNotFound(err)
	}
	return false, ignoreNotFound(err)
}

func ignoreNotFound(err error) error {
	if gcerrors.Code(err) == gcerrors.NotFound {
		return nil
	}
	return err
}
