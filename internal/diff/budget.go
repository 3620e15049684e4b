package diff

import (
	"fmt"

	"github.com/tidegate/tidegate/internal/gitops"
)

// PruneNeedsApproval says why deleting these objects of a target, out of so many,
// is more than a target may do by itself; empty when it is not. Up to a fifth of
// the objects, but at least one, goes without asking, unless they hold others or
// data.
func PruneNeedsApproval(prune []gitops.ObjectKey, objects int) string {
	if len(prune) == 0 {
		return ""
	}
	for _, key := range prune {
		if precious(key) {
			return fmt.Sprintf("it deletes %s", key)
		}
	}
	switch n := len(prune); {
	case n >= objects:
		return fmt.Sprintf("it deletes all %d objects of the target", n)
	case n > max(1, objects/5):
		return fmt.Sprintf("it deletes %d of %d objects", n, objects)
	}
	return ""
}

func precious(k gitops.ObjectKey) bool {
	switch k.Kind {
	case "Namespace", "PersistentVolumeClaim", "PersistentVolume":
		return k.Group == ""
	case "CustomResourceDefinition":
		return k.Group == "apiextensions.k8s.io"
	}
	return false
}
