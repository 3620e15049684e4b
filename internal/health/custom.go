package health

import (
	"strconv"

	"github.com/tidegate/tidegate/internal/gitops"
)

// Kinds of widely used operators whose status kstatus' conventions do not cover.

func argoWorkflow(o object) verdict {
	switch phase := o.text("status", "phase"); phase {
	case "Succeeded":
		return healthy()
	case "Failed", "Error":
		return degraded("%s", nonEmpty(o.text("status", "message"), "is "+phase))
	case "Pending", "Running", "":
		return progressing("%s", nonEmpty(o.text("status", "message"), "is running"))
	default:
		return verdict{gitops.HealthUnknown, "is in phase " + phase}
	}
}

// argoRollout follows status.phase, which Argo Rollouts has since version 1.0. Its
// observedGeneration is a string.
func argoRollout(o object) verdict {
	seen, err := strconv.ParseInt(o.text("status", "observedGeneration"), 10, 64)
	if err != nil || seen < o.number(0, "metadata", "generation") {
		return progressing(notObserved, o.number(0, "metadata", "generation"), seen)
	}
	message := o.text("status", "message")
	switch phase := o.text("status", "phase"); phase {
	case "Healthy":
		return healthy()
	case "Degraded", "Invalid":
		return degraded("%s", nonEmpty(message, "is "+phase))
	case "Paused":
		return verdict{gitops.Suspended, nonEmpty(message, "is paused")}
	default:
		return progressing("%s", nonEmpty(message, "is rolling out"))
	}
}

// argoApplication is how Argo CD says that the Application is: an Application of its
// own among the objects is waited for, which Argo CD itself does not.
func argoApplication(o object) verdict {
	message := o.text("status", "health", "message")
	switch status := gitops.HealthStatus(o.text("status", "health", "status")); status {
	case gitops.Healthy, gitops.Degraded, gitops.Suspended, gitops.Progressing:
		return verdict{status, message}
	case gitops.Missing:
		return progressing("its objects are missing")
	default:
		return progressing("Argo CD has not said how it is yet")
	}
}

func gateway(o object) verdict { return accepted(o, o.list("status", "conditions"), "Programmed") }

func route(o object) verdict {
	parents := o.list("status", "parents")
	if len(parents) == 0 {
		return progressing("no gateway has taken it yet")
	}
	for _, p := range parents {
		if v := accepted(o, p.list("conditions"), "ResolvedRefs"); v.status != gitops.Healthy {
			return v
		}
	}
	return healthy()
}

// accepted wants the conditions Accepted and another one, of this generation.
func accepted(o object, conditions []object, other string) verdict {
	for _, kind := range []string{"Accepted", other} {
		found := false
		for _, c := range conditions {
			if c.text("type") != kind || c.number(0, "observedGeneration") < o.number(0, "metadata", "generation") {
				continue
			}
			found = true
			if c.text("status") == "False" {
				return degraded("%s: %s", kind, c.words())
			}
			if c.text("status") != "True" {
				return progressing("%s: %s", kind, c.words())
			}
		}
		if !found {
			return progressing("is not %s yet", kind)
		}
	}
	return healthy()
}

func sealedSecret(o object) verdict {
	c := o.condition("Synced")
	switch c.text("status") {
	case "True":
		return healthy()
	case "False":
		return degraded("%s", c.words())
	default:
		return progressing("is not unsealed yet")
	}
}

func nonEmpty(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
