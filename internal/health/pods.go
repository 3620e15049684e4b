package health

import (
	"slices"
	"strings"

	"github.com/tidegate/tidegate/internal/gitops"
)

func pod(o object) verdict {
	if c, stuck := o.stuckContainer(); stuck {
		return degraded("container %s: %s", c.text("name"), object(c.waiting()).words())
	}
	switch phase := o.text("status", "phase"); phase {
	case "Succeeded":
		return healthy()
	case "Failed":
		return degraded("%s", o.failure())
	case "Running":
		return o.running()
	case "Pending", "":
		return progressing("is pending%s", o.unscheduled())
	default:
		return verdict{gitops.HealthUnknown, "is in phase " + phase}
	}
}

func (o object) containers() []object {
	return slices.Concat(o.list("status", "initContainerStatuses"), o.list("status", "containerStatuses"))
}

func (c object) waiting() object {
	m, _ := c.at("state", "waiting").(map[string]any)
	return m
}

// stuckContainer finds a container that waits for something which will not
// happen by itself, such as an image that does not exist. Only of pods that are
// restarted for ever: the others end by themselves.
func (o object) stuckContainer() (object, bool) {
	if o.ends() {
		return nil, false
	}
	for _, c := range o.containers() {
		reason := c.waiting().text("reason")
		if strings.HasPrefix(reason, "Err") || strings.HasSuffix(reason, "Error") || strings.HasSuffix(reason, "BackOff") {
			return c, true
		}
	}
	return nil, false
}

// ends says whether a pod runs to an end. Argo CD's annotation says that one which
// is not restarted runs for ever all the same.
func (o object) ends() bool {
	policy := o.text("spec", "restartPolicy")
	return policy != "Always" && policy != "" && o.text("metadata", "annotations", "argocd.argoproj.io/ignore-restart-policy") != "true"
}

func (o object) running() verdict {
	if o.ends() {
		return progressing("is running; it is done when it has ended")
	}
	if o.hasTrue("Ready") {
		return healthy()
	}
	for _, c := range o.list("status", "containerStatuses") {
		if ended, ok := c.at("lastState", "terminated").(map[string]any); ok {
			return degraded("container %s ended (%s) and is not ready again", c.text("name"), object(ended).words())
		}
	}
	return progressing("is running and not ready%s", o.notReady())
}

func (o object) notReady() string {
	if w := o.condition("Ready").words(); w != "" {
		return ": " + w
	}
	return ""
}

func (o object) unscheduled() string {
	if c := o.condition("PodScheduled"); c.text("status") == "False" {
		return ": " + c.words()
	}
	return ""
}

func (o object) failure() string {
	if m := o.text("status", "message"); m != "" {
		return m
	}
	for _, c := range o.containers() {
		if ended, ok := c.at("state", "terminated").(map[string]any); ok && object(ended).number(0, "exitCode") != 0 {
			return "container " + c.text("name") + " ended: " + object(ended).words()
		}
	}
	return "failed"
}

func job(o object) verdict {
	switch {
	case o.hasTrue("Failed"):
		return degraded("failed: %s", o.condition("Failed").words())
	case o.hasTrue("Complete"):
		return healthy()
	case o.hasTrue("Suspended"):
		return verdict{gitops.Suspended, "is suspended"}
	}
	return progressing("is running: %d active, %d failed, %d succeeded", o.number(0, "status", "active"), o.number(0, "status", "failed"), o.number(0, "status", "succeeded"))
}
