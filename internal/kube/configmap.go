package kube

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

// inventories is where inventories are kept.
var inventories = resource{configMaps, true}

func (r *Region) getConfigMap(ctx context.Context, name string) (cm *corev1.ConfigMap, err error) {
	err = r.try(ctx, func(ctx context.Context) (err error) {
		cm, err = configMap(r.rest.Get().AbsPath(inventories.path(systemNamespace, name)...).MaxRetries(0).Do(ctx))
		return err
	})
	return cm, err
}

// putConfigMap creates an object, or replaces it when it has a resourceVersion,
// and returns its new resourceVersion. It returns errMoved when the object is not
// as expected: it exists already, has changed, or is gone. After an answer that
// was lost this may be our own doing.
func (r *Region) putConfigMap(ctx context.Context, cm *corev1.ConfigMap) (version string, err error) {
	version, err = r.sendConfigMap(ctx, cm)
	if !apierrors.IsNotFound(err) {
		return version, err
	}
	if cm.ResourceVersion != "" {
		return "", errMoved
	}
	if err := r.createSystemNamespace(ctx); err != nil {
		return "", fmt.Errorf("create namespace %s: %w", systemNamespace, err)
	}
	return r.sendConfigMap(ctx, cm)
}

func (r *Region) sendConfigMap(ctx context.Context, cm *corev1.ConfigMap) (version string, err error) {
	body, err := json.Marshal(cm)
	if err != nil {
		return "", fmt.Errorf("encode %s: %w", cm.Name, err)
	}
	err = r.try(ctx, func(ctx context.Context) error {
		request := r.rest.Post().AbsPath(inventories.path(systemNamespace, "")...)
		if cm.ResourceVersion != "" {
			request = r.rest.Put().AbsPath(inventories.path(systemNamespace, cm.Name)...)
		}
		written, err := configMap(request.SetHeader("Content-Type", runtime.ContentTypeJSON).MaxRetries(0).Body(body).Do(ctx))
		if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
			return errMoved
		}
		if err == nil {
			version = written.ResourceVersion
		}
		return err
	})
	return version, err
}

func (r *Region) createSystemNamespace(ctx context.Context) error {
	body := []byte(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"` + systemNamespace + `"}}`)
	err := r.try(ctx, func(ctx context.Context) error {
		return r.rest.Post().AbsPath(resource{namespaces, false}.path("", "")...).
			SetHeader("Content-Type", runtime.ContentTypeJSON).MaxRetries(0).Body(body).Do(ctx).Error()
	})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

func configMap(result rest.Result) (*corev1.ConfigMap, error) {
	body, err := raw(result)
	if err != nil {
		return nil, err
	}
	cm := &corev1.ConfigMap{}
	if err := json.Unmarshal(body, cm); err != nil {
		return nil, fmt.Errorf("decode a ConfigMap: %w", err)
	}
	return cm, nil
}
