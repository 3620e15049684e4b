package health

import "github.com/tidegate/tidegate/internal/gitops"

const notObserved = "its controller has not seen generation %d yet (last seen: %d)"

func (o object) unobserved() verdict {
	return progressing(notObserved, o.number(0, "metadata", "generation"), o.number(0, "status", "observedGeneration"))
}

func deployment(o object) verdict {
	if o.isTrue("spec", "paused") {
		return verdict{gitops.Suspended, "is paused"}
	}
	if !o.observed() {
		return o.unobserved()
	}
	if c := o.condition("Progressing"); c.text("reason") == "ProgressDeadlineExceeded" {
		return degraded("exceeded its progress deadline: %s", c.words())
	}
	want, updated := o.number(1, "spec", "replicas"), o.number(0, "status", "updatedReplicas")
	all, available := o.number(0, "status", "replicas"), o.number(0, "status", "availableReplicas")
	switch {
	case updated < want:
		return progressing("%d of %d replicas are updated%s", updated, want, o.replicaFailure())
	case all > updated:
		return progressing("%d old replicas are still there", all-updated)
	case available < updated:
		return progressing("%d of %d updated replicas are available%s", available, updated, o.replicaFailure())
	}
	return healthy()
}

// replicaFailure is why pods cannot be created, such as a quota.
func (o object) replicaFailure() string {
	if c := o.condition("ReplicaFailure"); c.text("status") == "True" {
		return "; " + c.words()
	}
	return ""
}

func statefulSet(o object) verdict {
	if o.number(0, "status", "observedGeneration") == 0 || !o.observed() {
		return o.unobserved()
	}
	want, ready := o.number(1, "spec", "replicas"), o.number(0, "status", "readyReplicas")
	if ready < want {
		return progressing("%d of %d replicas are ready", ready, want)
	}
	if o.text("spec", "updateStrategy", "type") == "OnDelete" {
		return healthy()
	}
	updated := o.number(0, "status", "updatedReplicas")
	if partition := o.number(0, "spec", "updateStrategy", "rollingUpdate", "partition"); partition > 0 {
		if updated < want-partition {
			return progressing("%d of %d replicas above the partition are updated", updated, want-partition)
		}
		return healthy()
	}
	if o.text("status", "updateRevision") != o.text("status", "currentRevision") {
		return progressing("%d of %d replicas are updated", updated, want)
	}
	return healthy()
}

func daemonSet(o object) verdict {
	if !o.observed() {
		return o.unobserved()
	}
	if o.text("spec", "updateStrategy", "type") == "OnDelete" {
		return healthy()
	}
	want := o.number(0, "status", "desiredNumberScheduled")
	if updated := o.number(0, "status", "updatedNumberScheduled"); updated < want {
		return progressing("%d of %d pods are updated", updated, want)
	}
	if available := o.number(0, "status", "numberAvailable"); available < want {
		return progressing("%d of %d pods are available", available, want)
	}
	return healthy()
}

func replicaSet(o object) verdict {
	if !o.observed() {
		return o.unobserved()
	}
	if c := o.condition("ReplicaFailure"); c.text("status") == "True" {
		return degraded("%s", c.words())
	}
	want, available := o.number(1, "spec", "replicas"), o.number(0, "status", "availableReplicas")
	if available < want {
		return progressing("%d of %d replicas are available", available, want)
	}
	return healthy()
}
