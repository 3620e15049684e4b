// Package health says how an object is, from what its own status tells: Argo
// CD's rules for the kinds that Kubernetes brings, kstatus' conventions for all
// others. A status that speaks of an older generation of the object never counts.
package health

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/tidegate/tidegate/internal/gitops"
)

// verdict is a health state with the reason in words for people.
type verdict struct {
	status  gitops.HealthStatus
	message string
}

func healthy() verdict { return verdict{status: gitops.Healthy} }

func progressing(format string, args ...any) verdict {
	return verdict{gitops.Progressing, fmt.Sprintf(format, args...)}
}

func degraded(format string, args ...any) verdict {
	return verdict{gitops.Degraded, fmt.Sprintf(format, args...)}
}

// rules has the kinds with a rule of their own. Versions are not told apart: the
// fields that the rules read are the same in all that are still served.
var rules = map[schema.GroupKind]func(object) verdict{
	{Group: "apps", Kind: "Deployment"}:                               deployment,
	{Group: "apps", Kind: "StatefulSet"}:                              statefulSet,
	{Group: "apps", Kind: "DaemonSet"}:                                daemonSet,
	{Group: "apps", Kind: "ReplicaSet"}:                               replicaSet,
	{Kind: "Pod"}:                                                     pod,
	{Group: "batch", Kind: "Job"}:                                     job,
	{Kind: "PersistentVolumeClaim"}:                                   volumeClaim,
	{Kind: "Service"}:                                                 service,
	{Kind: "Namespace"}:                                               namespace,
	{Group: "networking.k8s.io", Kind: "Ingress"}:                     ingress,
	{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}:           autoscaler,
	{Group: "apiregistration.k8s.io", Kind: "APIService"}:             apiService,
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: definition,
	{Group: "extensions", Kind: "Ingress"}:                            ingress,
	{Group: "argoproj.io", Kind: "Workflow"}:                          argoWorkflow,
	{Group: "argoproj.io", Kind: "Rollout"}:                           argoRollout,
	{Group: "argoproj.io", Kind: "Application"}:                       argoApplication,
	{Group: "gateway.networking.k8s.io", Kind: "Gateway"}:             gateway,
	{Group: "gateway.networking.k8s.io", Kind: "HTTPRoute"}:           route,
	{Group: "gateway.networking.k8s.io", Kind: "GRPCRoute"}:           route,
	{Group: "gateway.networking.k8s.io", Kind: "TLSRoute"}:            route,
	{Group: "bitnami.com", Kind: "SealedSecret"}:                      sealedSecret,
}

// Compute is Compute of the built-in rules.
func Compute(obj map[string]any) (gitops.HealthStatus, string) { return Rules{}.Compute(obj) }

// OfStatus is OfStatus of the built-in rules.
func OfStatus(obj map[string]any) (gitops.HealthStatus, string) { return Rules{}.OfStatus(obj) }

func builtIn(obj map[string]any) (gitops.HealthStatus, string) {
	o, u := object(obj), &unstructured.Unstructured{Object: obj}
	if rule, ok := rules[u.GroupVersionKind().GroupKind()]; ok {
		v := rule(o)
		return v.status, v.message
	}
	result, err := status.Compute(u)
	if err != nil {
		return gitops.HealthUnknown, err.Error()
	}
	return fromKstatus(result)
}

func fromKstatus(r *status.Result) (gitops.HealthStatus, string) {
	switch r.Status {
	case status.CurrentStatus:
		return gitops.Healthy, r.Message
	case status.FailedStatus:
		return gitops.Degraded, r.Message
	case status.InProgressStatus, status.TerminatingStatus:
		return gitops.Progressing, r.Message
	default:
		return gitops.HealthUnknown, r.Message
	}
}

// existing are the kinds that are healthy as soon as they exist: their status, if
// they have one, says nothing about that.
var existing = map[schema.GroupKind]bool{
	{Kind: "ConfigMap"}: true, {Kind: "Secret"}: true, {Kind: "ServiceAccount"}: true, {Kind: "Namespace"}: true,
	{Kind: "ResourceQuota"}: true, {Kind: "LimitRange"}: true, {Kind: "PodTemplate"}: true, {Kind: "Endpoints"}: true,
	{Kind: "PersistentVolume"}: true, {Kind: "Event"}: true,
	{Group: "rbac.authorization.k8s.io", Kind: "Role"}:                                true,
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}:                         true,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}:                         true,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}:                  true,
	{Group: "networking.k8s.io", Kind: "NetworkPolicy"}:                               true,
	{Group: "networking.k8s.io", Kind: "IngressClass"}:                                true,
	{Group: "policy", Kind: "PodDisruptionBudget"}:                                    true,
	{Group: "batch", Kind: "CronJob"}:                                                 true,
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}:                               true,
	{Group: "storage.k8s.io", Kind: "StorageClass"}:                                   true,
	{Group: "storage.k8s.io", Kind: "CSIDriver"}:                                      true,
	{Group: "node.k8s.io", Kind: "RuntimeClass"}:                                      true,
	{Group: "discovery.k8s.io", Kind: "EndpointSlice"}:                                true,
	{Group: "coordination.k8s.io", Kind: "Lease"}:                                     true,
	{Group: "flowcontrol.apiserver.k8s.io", Kind: "FlowSchema"}:                       true,
	{Group: "flowcontrol.apiserver.k8s.io", Kind: "PriorityLevelConfiguration"}:       true,
	{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"}:     true,
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}:   true,
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicy"}:        true,
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicyBinding"}: true,
	{Group: "admissionregistration.k8s.io", Kind: "MutatingAdmissionPolicy"}:          true,
	{Group: "admissionregistration.k8s.io", Kind: "MutatingAdmissionPolicyBinding"}:   true,
}

// Tracked says whether a desired object's health has to be waited for. The
// others are healthy as soon as they exist, and need no watch.
func Tracked(obj map[string]any) bool {
	gk := (&unstructured.Unstructured{Object: obj}).GroupVersionKind().GroupKind()
	if gk == (schema.GroupKind{Kind: "Service"}) {
		return object(obj).text("spec", "type") == "LoadBalancer"
	}
	return !existing[gk]
}

// ending are the kinds that run to an end.
var ending = map[schema.GroupKind]bool{
	{Kind: "Pod"}: true, {Group: "batch", Kind: "Job"}: true, {Group: "argoproj.io", Kind: "Workflow"}: true,
	{Group: "tekton.dev", Kind: "TaskRun"}: true, {Group: "tekton.dev", Kind: "PipelineRun"}: true,
}

// Ends says whether an object runs to an end, after which it may delete itself.
func Ends(obj map[string]any) bool {
	return ending[(&unstructured.Unstructured{Object: obj}).GroupVersionKind().GroupKind()]
}

// AtWork says whether something of an object that runs to an end is running now.
// Of kinds that do not tell, anything that has begun is.
func AtWork(obj map[string]any) bool {
	o := object(obj)
	switch (&unstructured.Unstructured{Object: obj}).GroupVersionKind().GroupKind() {
	case schema.GroupKind{Group: "batch", Kind: "Job"}:
		return o.number(0, "status", "ready") > 0
	case schema.GroupKind{Kind: "Pod"}:
		return slices.ContainsFunc(o.containers(), func(c object) bool { return c.at("state", "running") != nil })
	default:
		return o.at("status") != nil
	}
}

// IsLeaf says whether objects of a kind own no others.
func IsLeaf(gk schema.GroupKind) bool {
	return existing[gk] && gk != (schema.GroupKind{Group: "batch", Kind: "CronJob"}) && gk != (schema.GroupKind{Kind: "Namespace"})
}
