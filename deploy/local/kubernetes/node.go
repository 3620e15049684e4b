package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
)

const nodeName = "local"

// node is the scheduler and the kubelet of a region: it takes every pod, and plays its containers without running them.
type node struct {
	client kubernetes.Interface
}

// startNode registers the region's only node and lets it play pods until the context ends.
func startNode(ctx context.Context, client kubernetes.Interface, shared informers.SharedInformerFactory) error {
	plenty := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("1000"),
		corev1.ResourceMemory: resource.MustParse("1Ti"),
		corev1.ResourcePods:   resource.MustParse("10000"),
	}
	_, err := client.CoreV1().Nodes().Create(ctx, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: nodeName, Labels: map[string]string{corev1.LabelHostname: nodeName, corev1.LabelOSStable: "linux"}},
		Status: corev1.NodeStatus{
			Capacity: plenty, Allocatable: plenty,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastTransitionTime: metav1.Now()}},
		},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("register the node: %w", err)
	}
	settle(ctx, shared.Core().V1().Pods().Informer(), 8, (&node{client: client}).step)
	return nil
}

// step brings a pod one step further: bound, then running, then finished or gone. The time it returns is when to look again.
func (n *node) step(ctx context.Context, pod *corev1.Pod) (time.Duration, error) {
	if pod.DeletionTimestamp != nil {
		return 0, n.end(ctx, pod)
	}
	if pod.Spec.NodeName == "" {
		return 0, n.bind(ctx, pod)
	}
	status, again := play(pod, time.Now())
	if status == nil {
		return again, nil
	}
	return again, n.report(ctx, pod, status)
}

func (n *node) bind(ctx context.Context, pod *corev1.Pod) error {
	return n.client.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: nodeName},
	}, metav1.CreateOptions{})
}

// end stops the containers of a deleted pod, at once, and removes it. A Job's pod has to have failed first: the Job
// controller holds it by a finalizer until it has counted it.
func (n *node) end(ctx context.Context, pod *corev1.Pod) error {
	if len(pod.Finalizers) > 0 && !finished(pod) {
		return n.report(ctx, pod, stopped(pod, corev1.PodFailed, 143, "deleted", time.Now()))
	}
	now := int64(0)
	return n.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: &now,
		Preconditions:      &metav1.Preconditions{UID: &pod.UID},
	})
}

// report writes the status; the UID in it makes the API server refuse it when another pod has taken the name.
func (n *node) report(ctx context.Context, pod *corev1.Pod, status *corev1.PodStatus) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": status})
	if err != nil {
		return err
	}
	_, err = n.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

func finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}
