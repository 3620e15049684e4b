package main

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/api/v1/pod"
)

const (
	// failAnnotation on a pod keeps it from becoming ready, or, when it is one that ends (a Job's), makes it fail. Its value
	// is the message in the status. It works on running pods too, and removing it heals them.
	failAnnotation = "local.tidegate.dev/fail"
	// durationAnnotation on a pod is the time until it is ready, or, when it is one that ends, until it has: "5s".
	durationAnnotation = "local.tidegate.dev/duration"
)

// play returns the status that a bound pod should have now, nil when it has it already, and after which time to look again
// (zero: when it changes).
func play(p *corev1.Pod, now time.Time) (status *corev1.PodStatus, again time.Duration) {
	if finished(p) {
		return nil, 0
	}
	failure, fails := p.Annotations[failAnnotation]
	ends := p.Spec.RestartPolicy != corev1.RestartPolicyAlways
	left := duration(p) - now.Sub(p.CreationTimestamp.Time)
	switch {
	case left > 0:
		status = running(p, ends, "ContainerCreating", "", now)
		again = left
	case ends && fails:
		return stopped(p, corev1.PodFailed, 1, failure, now), 0
	case ends:
		return stopped(p, corev1.PodSucceeded, 0, "", now), 0
	default:
		status = running(p, !fails, "CrashLoopBackOff", failure, now)
	}
	if p.Status.Phase == corev1.PodRunning && pod.IsPodReady(p) == pod.IsPodReadyConditionTrue(*status) {
		return nil, again
	}
	return status, again
}

// duration reads the annotation; what cannot be read is no time at all.
func duration(p *corev1.Pod) time.Duration {
	d, _ := time.ParseDuration(p.Annotations[durationAnnotation])
	return d
}
