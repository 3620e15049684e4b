package diff

import (
	"fmt"
	"strings"

	"github.com/tidegate/tidegate/internal/manifest"
)

// judgeForeign judges a desired object that exists and is not this target's. What
// another target tracks is taken over when this one is that target by a new name,
// when Git says so, or when that target of the same release does not declare it any
// more. What nobody of Tidegate's manages is taken over when Git says so, or when
// Argo CD tracks it for the Application of the same name.
func (c Comparison) judgeForeign(d Desired, live Live, owner string) Verdict {
	argo := manifest.TrackedByArgo(live.Annotations, d.Key)
	adopt := func(from string) Verdict {
		return Verdict{Key: d.Key, Action: Change, Reason: "it is taken over from " + from, Adopted: true}
	}
	refuse := func(format string, args ...any) Verdict {
		return Verdict{Key: d.Key, Action: Refuse, Reason: fmt.Sprintf(format, args...)}
	}
	switch {
	case owner != "" && (owner == c.RenamedFrom || owner == d.Adopt || c.gives(owner, d)):
		return adopt("target " + owner)
	case owner != "":
		return refuse("it is tracked by target %s; to move it here, give it the annotation %s: %s", owner, manifest.AnnotationAdopt, owner)
	case live.Controller != "":
		return refuse("it belongs to %s, which makes it; name it differently", live.Controller)
	case argo != "" && (argo == c.Target || strings.HasSuffix(argo, "_"+c.Target)):
		return adopt("Argo CD's Application " + argo)
	case argo != "" && !allowed(d.Adopt, c.Adopt):
		return refuse("Argo CD tracks it for Application %s; to take it over, %s", argo, howToAdopt)
	case argo != "":
		return adopt("Argo CD's Application " + argo)
	case !allowed(d.Adopt, c.Adopt):
		return refuse("it exists and is not managed by Tidegate; to take it over, %s", howToAdopt)
	}
	return adopt(describe(live))
}

const howToAdopt = "give it, or the Application, the annotation " + manifest.AnnotationAdopt + `: "true"`

// allowed says whether objects of nobody may be taken over: the object's own word
// counts, where it has one.
func allowed(object string, target bool) bool {
	if object == "" {
		return target
	}
	return object == "true"
}

// gives says whether a target of the same release lets go of an object.
func (c Comparison) gives(owner string, d Desired) bool {
	declares, sibling := c.Siblings[owner]
	return sibling && !declares[d.Key]
}

// describe says who has made an object, as far as it shows.
func describe(live Live) string {
	switch {
	case live.Annotations["meta.helm.sh/release-name"] != "":
		return "Helm's release " + live.Annotations["meta.helm.sh/release-name"]
	case live.Annotations["kubectl.kubernetes.io/last-applied-configuration"] != "":
		return "kubectl"
	case live.Labels["kustomize.toolkit.fluxcd.io/name"] != "":
		return "Flux's Kustomization " + live.Labels["kustomize.toolkit.fluxcd.io/name"]
	default:
		return "whoever made it"
	}
}
