package stack_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/tidegate/tidegate/deploy/local/stack"
	"github.com/tidegate/tidegate/deploy/local/stack/stacktest"
	"github.com/tidegate/tidegate/internal/config"
)

// connect returns a client of the region for one of the users in its kubeconfig.
func connect(t *testing.T, r *stack.Region, user string) kubernetes.Interface {
	t.Helper()
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: r.Kubeconfig},
		&clientcmd.ConfigOverrides{CurrentContext: user}).ClientConfig()
	require.NoError(t, err)
	config.QPS = -1
	config.Timeout = 5 * time.Second
	config.UserAgent = "stack-test/" + user
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	return client
}

// eventually waits until the condition holds; what it saw last is in the failure.
func eventually(t *testing.T, what string, condition func(context.Context) (bool, any)) {
	t.Helper()
	var last any
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		done, seen := condition(ctx)
		last = seen
		return done, nil
	})
	require.NoError(t, err, "%s; last seen: %v", what, last)
}

// two regions with everything on: the tests below share them, one after another, each with names of its own.
func twoRegions(t *testing.T) *stack.Stack {
	t.Helper()
	return stacktest.Start(t, stack.Options{
		Regions:  []stack.RegionSpec{{Name: "eu-1", Labels: map[string]string{"continent": "eu"}}, {Name: "us-1"}},
		Users:    []stack.User{{Name: "guest"}},
		AuditLog: true,
	})
}

func TestRegions(t *testing.T) {
	s := twoRegions(t)
	eu, us := s.Regions[0], s.Regions[1]

	t.Run("a Deployment becomes available", func(t *testing.T) {
		client := connect(t, eu, stack.UserAdmin)
		deploy(t, client, "web", nil)
		available(t, client, "web")
	})
	t.Run("a Deployment told to fail does not, and heals", func(t *testing.T) {
		client := connect(t, eu, stack.UserAdmin)
		deploy(t, client, "broken", map[string]string{"local.tidegate.dev/fail": "no such image"})
		eventually(t, "its pods wait with the message", func(ctx context.Context) (bool, any) {
			pods, err := client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "app=broken"})
			if err != nil || len(pods.Items) != 2 || len(pods.Items[0].Status.ContainerStatuses) == 0 {
				return false, err
			}
			waiting := pods.Items[0].Status.ContainerStatuses[0].State.Waiting
			return waiting != nil && waiting.Message == "no such image", waiting
		})
		patch := []byte(`{"spec":{"template":{"metadata":{"annotations":{"local.tidegate.dev/fail":null}}}}}`)
		_, err := client.AppsV1().Deployments("default").Patch(t.Context(), "broken", types.StrategicMergePatchType, patch, metav1.PatchOptions{})
		require.NoError(t, err)
		available(t, client, "broken")
	})
	t.Run("a Job completes, or fails when told to", func(t *testing.T) {
		client := connect(t, eu, stack.UserAdmin)
		runJob(t, client, "hook", nil)
		runJob(t, client, "bad-hook", map[string]string{"local.tidegate.dev/fail": "exit 1"})
		finished(t, client, "hook", batchv1.JobComplete)
		finished(t, client, "bad-hook", batchv1.JobFailed)
	})
	t.Run("what a cloud completes is completed", func(t *testing.T) {
		client := connect(t, eu, stack.UserAdmin)
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "disk"}}
		claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
		_, err := client.CoreV1().PersistentVolumeClaims("default").Create(t.Context(), claim, metav1.CreateOptions{})
		require.NoError(t, err)
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "public"}}
		service.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}, Selector: map[string]string{"app": "web"}}
		_, err = client.CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{})
		require.NoError(t, err)
		eventually(t, "the claim is bound, the Service has an address and endpoints", func(ctx context.Context) (bool, any) {
			claim, err := client.CoreV1().PersistentVolumeClaims("default").Get(ctx, "disk", metav1.GetOptions{})
			if err != nil || claim.Status.Phase != corev1.ClaimBound {
				return false, err
			}
			service, err := client.CoreV1().Services("default").Get(ctx, "public", metav1.GetOptions{})
			if err != nil || len(service.Status.LoadBalancer.Ingress) == 0 {
				return false, err
			}
			slices, err := client.DiscoveryV1().EndpointSlices("default").List(ctx, metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=public"})
			return err == nil && len(slices.Items) == 1 && len(slices.Items[0].Endpoints) == 2, err
		})
	})
	t.Run("a namespace goes with what is in it", func(t *testing.T) {
		client := connect(t, eu, stack.UserAdmin)
		_, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, metav1.CreateOptions{})
		require.NoError(t, err)
		_, err = client.CoreV1().ConfigMaps("shop").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "prices"}}, metav1.CreateOptions{})
		require.NoError(t, err)
		require.NoError(t, client.CoreV1().Namespaces().Delete(t.Context(), "shop", metav1.DeleteOptions{}))
		eventually(t, "the namespace is gone", func(ctx context.Context) (bool, any) {
			_, err := client.CoreV1().Namespaces().Get(ctx, "shop", metav1.GetOptions{})
			return apierrors.IsNotFound(err), err
		})
	})
	t.Run("a user without rights has none", func(t *testing.T) {
		_, err := connect(t, eu, "guest").CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
		require.True(t, apierrors.IsForbidden(err), "%v", err)
	})
	t.Run("the audit log tells who wrote, and leaves out the controllers", func(t *testing.T) {
		_, err := connect(t, eu, stack.UserTidegate).CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "audited"}}, metav1.CreateOptions{})
		require.NoError(t, err)
		log, err := os.ReadFile(eu.AuditLog)
		require.NoError(t, err)
		var line string
		for l := range strings.Lines(string(log)) {
			if strings.Contains(l, `"name":"audited"`) {
				line = l
			}
		}
		require.Contains(t, line, `"username":"tidegate"`)
		require.Contains(t, line, `"userAgent":"stack-test/tidegate"`)
		require.NotContains(t, string(log), `"username":"controllers"`)
	})
	t.Run("a region that is killed comes back with what it had, and the other never notices", func(t *testing.T) {
		require.NoError(t, eu.Kill())
		require.False(t, eu.Alive())
		require.Error(t, eu.Ready(t.Context()))
		deploy(t, connect(t, us, stack.UserAdmin), "meanwhile", nil)
		available(t, connect(t, us, stack.UserAdmin), "meanwhile")
		require.NoError(t, eu.Restart(t.Context()))
		client := connect(t, eu, stack.UserAdmin)
		available(t, client, "web")
		deploy(t, client, "afterwards", nil)
		available(t, client, "afterwards")
	})
	t.Run("a region that froze goes on", func(t *testing.T) {
		require.NoError(t, eu.Freeze())
		require.Error(t, eu.Ready(expiring(t, time.Second)))
		require.NoError(t, eu.Thaw())
		client := connect(t, eu, stack.UserAdmin)
		deploy(t, client, "thawed", nil)
		available(t, client, "thawed")
	})
	t.Run("a region that is replaced is another cluster at the same address", func(t *testing.T) {
		before := clusterID(t, us)
		require.NoError(t, us.Replace(t.Context()))
		require.NotEqual(t, before, clusterID(t, us))
		client := connect(t, us, stack.UserAdmin)
		_, err := client.AppsV1().Deployments("default").Get(t.Context(), "meanwhile", metav1.GetOptions{})
		require.True(t, apierrors.IsNotFound(err), "%v", err)
		deploy(t, client, "anew", nil)
		available(t, client, "anew")
	})
	t.Run("tidegate.yaml is what Tidegate's programs read", func(t *testing.T) {
		settings, err := config.Load(s.Settings)
		require.NoError(t, err)
		require.Len(t, settings.Regions, 2)
		require.Equal(t, us.Kubeconfig, settings.Regions[1].Kubeconfig)
		require.Equal(t, stack.UserTidegate, settings.Regions[1].Context)
		require.Equal(t, map[string]string{"continent": "eu"}, settings.Regions[0].Labels)
	})
	t.Run("the merged kubeconfig has a context for each region", func(t *testing.T) {
		config, err := clientcmd.LoadFromFile(s.Kubeconfig)
		require.NoError(t, err)
		require.Equal(t, us.URL, config.Clusters[config.Contexts["us-1"].Cluster].Server)
		require.Equal(t, "eu-1", config.CurrentContext)
	})
}

// expiring is the test's context with a timeout.
func expiring(t *testing.T, timeout time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	t.Cleanup(cancel)
	return ctx
}

func clusterID(t *testing.T, r *stack.Region) types.UID {
	t.Helper()
	var id types.UID
	eventually(t, "kube-system is there", func(ctx context.Context) (bool, any) {
		namespace, err := connect(t, r, stack.UserAdmin).CoreV1().Namespaces().Get(ctx, "kube-system", metav1.GetOptions{})
		if err == nil {
			id = namespace.UID
		}
		return err == nil, err
	})
	return id
}

func podTemplate(name string, annotations map[string]string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}, Annotations: annotations},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.invalid/main:1"}}},
	}
}

// replicas is what every Deployment of these tests has.
const replicas = 2

func deploy(t *testing.T, client kubernetes.Interface, name string, podAnnotations map[string]string) {
	t.Helper()
	wanted := int32(replicas)
	_, err := client.AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &wanted,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
			Template: podTemplate(name, podAnnotations),
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

func available(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	eventually(t, "Deployment "+name+" is available", func(ctx context.Context) (bool, any) {
		d, err := client.AppsV1().Deployments("default").Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		return d.Status.AvailableReplicas == replicas && d.Status.UpdatedReplicas == replicas && d.Status.ObservedGeneration == d.Generation, d.Status
	})
}

func runJob(t *testing.T, client kubernetes.Interface, name string, podAnnotations map[string]string) {
	t.Helper()
	template := podTemplate(name, podAnnotations)
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	retries := int32(0)
	_, err := client.BatchV1().Jobs("default").Create(t.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       batchv1.JobSpec{Template: template, BackoffLimit: &retries},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

func finished(t *testing.T, client kubernetes.Interface, name string, how batchv1.JobConditionType) {
	t.Helper()
	eventually(t, "Job "+name+" is "+string(how), func(ctx context.Context) (bool, any) {
		job, err := client.BatchV1().Jobs("default").Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		for _, c := range job.Status.Conditions {
			if c.Type == how && c.Status == corev1.ConditionTrue {
				return true, nil
			}
		}
		return false, job.Status
	})
}
