package main

import (
	"context"
	"encoding/json"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
)

const publicAddress = "192.0.2.1" // TEST-NET-1: leads nowhere

// cloud does what a provider's controllers do, as far as the health of objects depends on it: storage is bound, load
// balancers and Ingresses have an address, autoscalers have looked at what they scale.
type cloud struct {
	client kubernetes.Interface
}

// startCloud lets the cloud work until the context ends.
func startCloud(ctx context.Context, client kubernetes.Interface, shared informers.SharedInformerFactory) {
	c := &cloud{client: client}
	settle(ctx, shared.Core().V1().PersistentVolumeClaims().Informer(), 1, c.bindClaim)
	settle(ctx, shared.Core().V1().Services().Informer(), 1, c.addressService)
	settle(ctx, shared.Networking().V1().Ingresses().Informer(), 1, c.addressIngress)
	settle(ctx, shared.Autoscaling().V2().HorizontalPodAutoscalers().Informer(), 1, c.observeAutoscaler)
}

func (c *cloud) bindClaim(ctx context.Context, claim *corev1.PersistentVolumeClaim) (time.Duration, error) {
	if claim.Status.Phase == corev1.ClaimBound {
		return 0, nil
	}
	patch := statusPatch(corev1.PersistentVolumeClaimStatus{
		Phase: corev1.ClaimBound, AccessModes: claim.Spec.AccessModes, Capacity: claim.Spec.Resources.Requests,
	})
	_, err := c.client.CoreV1().PersistentVolumeClaims(claim.Namespace).Patch(ctx, claim.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	return 0, err
}

func (c *cloud) addressService(ctx context.Context, service *corev1.Service) (time.Duration, error) {
	if service.Spec.Type != corev1.ServiceTypeLoadBalancer || len(service.Status.LoadBalancer.Ingress) > 0 {
		return 0, nil
	}
	patch := statusPatch(corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: publicAddress}}}})
	_, err := c.client.CoreV1().Services(service.Namespace).Patch(ctx, service.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	return 0, err
}

func (c *cloud) addressIngress(ctx context.Context, ingress *networkingv1.Ingress) (time.Duration, error) {
	if len(ingress.Status.LoadBalancer.Ingress) > 0 {
		return 0, nil
	}
	patch := statusPatch(networkingv1.IngressStatus{LoadBalancer: networkingv1.IngressLoadBalancerStatus{Ingress: []networkingv1.IngressLoadBalancerIngress{{IP: publicAddress}}}})
	_, err := c.client.NetworkingV1().Ingresses(ingress.Namespace).Patch(ctx, ingress.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	return 0, err
}

// observeAutoscaler reports that the autoscaler works and sees no reason to scale.
func (c *cloud) observeAutoscaler(ctx context.Context, scaler *autoscalingv2.HorizontalPodAutoscaler) (time.Duration, error) {
	if observed := scaler.Status.ObservedGeneration; len(scaler.Status.Conditions) > 0 && observed != nil && *observed == scaler.Generation {
		return 0, nil
	}
	replicas := max(1, scaler.Status.CurrentReplicas)
	if scaler.Spec.MinReplicas != nil {
		replicas = max(replicas, *scaler.Spec.MinReplicas)
	}
	yes := func(name autoscalingv2.HorizontalPodAutoscalerConditionType, reason string) autoscalingv2.HorizontalPodAutoscalerCondition {
		return autoscalingv2.HorizontalPodAutoscalerCondition{Type: name, Status: corev1.ConditionTrue, Reason: reason, LastTransitionTime: metav1.Now()}
	}
	patch := statusPatch(autoscalingv2.HorizontalPodAutoscalerStatus{
		ObservedGeneration: &scaler.Generation,
		CurrentReplicas:    replicas,
		DesiredReplicas:    replicas,
		Conditions:         []autoscalingv2.HorizontalPodAutoscalerCondition{yes(autoscalingv2.AbleToScale, "ReadyForNewScale"), yes(autoscalingv2.ScalingActive, "ValidMetricFound")},
	})
	_, err := c.client.AutoscalingV2().HorizontalPodAutoscalers(scaler.Namespace).Patch(ctx, scaler.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	return 0, err
}

// statusPatch is the merge patch that sets the status; the types of Kubernetes' API always encode.
func statusPatch(status any) []byte {
	patch, _ := json.Marshal(map[string]any{"status": status})
	return patch
}
