package kube

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/tidegate/tidegate/internal/gitops"
)

// maxRaces bounds how often a change is made anew since somebody else was faster.
const maxRaces = 10

// errRaces means that an object cannot be changed since others do all the time.
var errRaces = errors.New("it is changed by others all the time")

// amend changes an object by a JSON patch that is made from what it is now, and made
// anew when others are faster: a test in the patch fails then. Nothing is done when
// the patch is nil, or the object is gone.
func (r *Region) amend(ctx context.Context, res resource, key gitops.ObjectKey, patchOf func(live map[string]any) ([]byte, error)) error {
	for range maxRaces {
		live, err := r.get(ctx, res, key.Namespace, key.Name)
		if err != nil {
			return ignoreNotFound(err)
		}
		patch, err := patchOf(live)
		if err != nil || patch == nil {
			return err
		}
		if _, err = r.patch(ctx, res, PlannedObject{Key: key}, types.JSONPatchType, patch); !apierrors.IsInvalid(err) {
			return ignoreNotFound(err)
		}
	}
	return errRaces
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
