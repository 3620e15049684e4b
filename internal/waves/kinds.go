package waves

import (
	"cmp"

	"github.com/tidegate/tidegate/internal/gitops"
)

// kinds is the order within a wave: Argo CD's list. Kinds that are not in it
// come after it, and webhook configurations last of all: what they call should
// run by then.
var kinds = [...]string{
	"Namespace", "NetworkPolicy", "ResourceQuota", "LimitRange", "PodSecurityPolicy", "PodDisruptionBudget",
	"ServiceAccount", "Secret", "SecretList", "ConfigMap", "StorageClass", "PersistentVolume", "PersistentVolumeClaim",
	"CustomResourceDefinition", "ClusterRole", "ClusterRoleList", "ClusterRoleBinding", "ClusterRoleBindingList",
	"Role", "RoleList", "RoleBinding", "RoleBindingList", "Service", "DaemonSet", "Pod", "ReplicationController",
	"ReplicaSet", "Deployment", "HorizontalPodAutoscaler", "StatefulSet", "Job", "CronJob", "IngressClass", "Ingress", "APIService",
}

var rank = ranks()

func ranks() map[string]int {
	m := make(map[string]int, len(kinds)+2)
	for i, k := range kinds {
		m[k] = i
	}
	m["MutatingWebhookConfiguration"], m["ValidatingWebhookConfiguration"] = len(kinds)+1, len(kinds)+1
	return m
}

// compareKinds is 0 for objects that are applied at the same time. As in Argo CD
// the group does not matter.
func compareKinds(a, b gitops.ObjectKey) int { return cmp.Compare(rankOf(a), rankOf(b)) }

func rankOf(k gitops.ObjectKey) int {
	if r, ok := rank[k.Kind]; ok {
		return r
	}
	return len(kinds)
}
