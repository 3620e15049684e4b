package health

import (
	"slices"

	"github.com/tidegate/tidegate/internal/gitops"
)

func namespace(o object) verdict {
	if o.text("status", "phase") == "Terminating" {
		return progressing("is being deleted")
	}
	return healthy()
}

func volumeClaim(o object) verdict {
	switch phase := o.text("status", "phase"); phase {
	case "Bound":
		return healthy()
	case "Lost":
		return degraded("has lost its volume")
	case "Pending", "":
		return progressing("is not bound to a volume yet")
	default:
		return verdict{gitops.HealthUnknown, "is in phase " + phase}
	}
}

func service(o object) verdict {
	if o.text("spec", "type") != "LoadBalancer" {
		return healthy()
	}
	return balanced(o)
}

func ingress(o object) verdict { return balanced(o) }

func balanced(o object) verdict {
	if len(o.list("status", "loadBalancer", "ingress")) > 0 {
		return healthy()
	}
	return progressing("has no load balancer address yet")
}

// Conditions of an autoscaler, by type and reason. Metrics that cannot be read
// (ScalingActive, FailedGetResourceMetric) are no failure yet: those of pods that
// have just started are always missing at first.
var (
	autoscalerFailed = [][2]string{{"AbleToScale", "FailedGetScale"}, {"AbleToScale", "FailedUpdateScale"}, {"ScalingActive", "InvalidSelector"}}
	autoscalerWaits  = [][2]string{{"ScalingActive", "FailedGetResourceMetric"}}
	autoscalerWorks  = [][2]string{{"AbleToScale", "SucceededRescale"}, {"ScalingLimited", "DesiredWithinRange"}, {"ScalingLimited", "TooFewReplicas"}, {"ScalingLimited", "TooManyReplicas"}}
)

func autoscaler(o object) verdict {
	first := func(set [][2]string) object {
		for _, c := range o.list("status", "conditions") {
			if slices.Contains(set, [2]string{c.text("type"), c.text("reason")}) {
				return c
			}
		}
		return nil
	}
	if c := first(autoscalerFailed); c != nil {
		return degraded("%s", c.words())
	}
	if c := first(autoscalerWaits); c != nil {
		return progressing("%s", c.words())
	}
	if c := first(autoscalerWorks); c != nil {
		return healthy()
	}
	// Disabled at zero replicas: there is nothing to scale, and nothing to wait for.
	if o.condition("ScalingActive").text("reason") == "ScalingDisabled" {
		return healthy()
	}
	return progressing("has not scaled anything yet")
}

func apiService(o object) verdict {
	c := o.condition("Available")
	if c.text("status") == "True" {
		return healthy()
	}
	if w := c.words(); w != "" {
		return progressing("is not available: %s", w)
	}
	return progressing("is not available yet")
}

func definition(o object) verdict {
	if c := o.condition("NamesAccepted"); c.text("status") == "False" {
		return degraded("its names are not accepted: %s", c.words())
	}
	if !o.hasTrue("Established") {
		return progressing("is not established yet")
	}
	return healthy()
}
