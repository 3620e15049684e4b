package main

import (
	"fmt"
	"hash/fnv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const hostAddress = "10.0.0.1"

// running is the status of a pod whose containers run and are ready, or wait for the reason given.
func running(p *corev1.Pod, ready bool, reason, message string, now time.Time) *corev1.PodStatus {
	state := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	if ready {
		state = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(now)}}
	}
	return status(p, corev1.PodRunning, ready, state, now)
}

// stopped is the status of a pod whose containers have all ended with the exit code.
func stopped(p *corev1.Pod, phase corev1.PodPhase, exitCode int32, message string, now time.Time) *corev1.PodStatus {
	ended := &corev1.ContainerStateTerminated{ExitCode: exitCode, Reason: "Completed", Message: message, FinishedAt: metav1.NewTime(now)}
	if exitCode != 0 {
		ended.Reason = "Error"
	}
	return status(p, phase, false, corev1.ContainerState{Terminated: ended}, now)
}

// status is what a kubelet reports of a pod whose containers are all in the same state.
func status(p *corev1.Pod, phase corev1.PodPhase, ready bool, state corev1.ContainerState, now time.Time) *corev1.PodStatus {
	since := metav1.NewTime(now)
	condition := func(name corev1.PodConditionType, value bool, reason string) corev1.PodCondition {
		c := corev1.PodCondition{Type: name, Status: corev1.ConditionTrue, LastTransitionTime: since, ObservedGeneration: p.Generation}
		if !value {
			c.Status, c.Reason = corev1.ConditionFalse, reason
		}
		return c
	}
	unready := "ContainersNotReady"
	if phase == corev1.PodSucceeded {
		unready = "PodCompleted"
	}
	s := &corev1.PodStatus{
		ObservedGeneration: p.Generation,
		Phase:              phase,
		StartTime:          p.Status.StartTime,
		HostIP:             hostAddress,
		HostIPs:            []corev1.HostIP{{IP: hostAddress}},
		PodIP:              podAddress(p),
		PodIPs:             []corev1.PodIP{{IP: podAddress(p)}},
		Conditions: []corev1.PodCondition{
			condition(corev1.PodInitialized, true, ""),
			condition(corev1.ContainersReady, ready, unready),
			condition(corev1.PodReady, ready, unready),
		},
	}
	if s.StartTime == nil {
		s.StartTime = &since
	}
	started := state.Running != nil
	for _, c := range p.Spec.Containers {
		s.ContainerStatuses = append(s.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, ImageID: c.Image, State: state, Ready: ready, Started: &started,
		})
	}
	return s
}

// podAddress is an address that stays the pod's and that hardly any other pod has.
func podAddress(p *corev1.Pod) string {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(p.UID))
	sum := hash.Sum32()
	return fmt.Sprintf("10.%d.%d.%d", 64+sum>>16&63, sum>>8&255, sum&255)
}
