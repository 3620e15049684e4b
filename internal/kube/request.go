package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/rest"

	"github.com/tidegate/tidegate/internal/gitops"
)

// plainJSON is a client configuration for requests whose bodies are passed as
// they are and decoded once, here: the only type it knows is an error's.
func plainJSON(config *rest.Config) *rest.Config {
	plain := rest.CopyConfig(config)
	scheme := runtime.NewScheme()
	version := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(scheme, version)
	plain.GroupVersion = &version
	plain.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	plain.ContentType, plain.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	return plain
}

// decoded is the body of a response as decoded JSON, whole numbers as int64.
func decoded(result rest.Result) (map[string]any, error) {
	body, err := raw(result)
	if err != nil {
		return nil, err
	}
	var object map[string]any
	if err := utiljson.Unmarshal(body, &object); err != nil {
		return nil, fmt.Errorf("decode the region's answer: %w", err)
	}
	return object, nil
}

// raw is the body of a response. Only Error decodes what the server says of a
// request that it refuses.
func raw(result rest.Result) ([]byte, error) {
	if err := result.Error(); err != nil {
		return nil, err
	}
	return result.Raw()
}

// applyAs is who applies, and whether fields of others are taken over.
type applyAs struct {
	manager string
	force   bool
}

// apply makes an object as the manager wants it (server-side apply) and returns it
// as the server made it. Without force it returns errMoved when another manager
// has set a field otherwise.
func (r *Region) apply(ctx context.Context, res resource, o PlannedObject, as applyAs) (live map[string]any, err error) {
	err = r.try(ctx, func(ctx context.Context) error {
		live, err = decoded(o.written(ctx, r.rest.Patch(types.ApplyPatchType), as.manager).AbsPath(res.path(o.Key.Namespace, o.Key.Name)...).
			Param("force", strconv.FormatBool(as.force)).Body([]byte(o.Content)).Do(ctx))
		if !as.force && apierrors.IsConflict(err) {
			return errMoved
		}
		return err
	})
	return live, err
}

// validation is the word that says what becomes of fields that a kind does not
// have: they are refused, as kubectl does, or dropped.
func (m Manner) validation() string {
	if m.Lenient {
		return metav1.FieldValidationIgnore
	}
	return metav1.FieldValidationStrict
}

// dryRun is the key of contexts whose writes are only tried out.
type dryRun struct{}

func withDryRun(ctx context.Context) context.Context { return context.WithValue(ctx, dryRun{}, true) }

func isDry(ctx context.Context) bool { return ctx.Value(dryRun{}) != nil }

// written gives a request what all that write an object have.
func (o PlannedObject) written(ctx context.Context, request *rest.Request, manager string) *rest.Request {
	request = request.Param("fieldManager", manager).Param("fieldValidation", o.Manner.validation()).MaxRetries(0)
	if isDry(ctx) {
		return request.Param("dryRun", metav1.DryRunAll)
	}
	return request
}

// put replaces an object if it still is the one that the body says; errMoved when it
// is not.
func (r *Region) put(ctx context.Context, res resource, o PlannedObject, body []byte) (live map[string]any, err error) {
	err = r.try(ctx, func(ctx context.Context) error {
		live, err = decoded(o.written(ctx, r.rest.Put(), FieldManager).AbsPath(res.path(o.Key.Namespace, o.Key.Name)...).
			SetHeader("Content-Type", runtime.ContentTypeJSON).Body(body).Do(ctx))
		if apierrors.IsConflict(err) {
			return errMoved
		}
		return err
	})
	return live, err
}

// patch changes an object as a patch says.
func (r *Region) patch(ctx context.Context, res resource, o PlannedObject, kind types.PatchType, patch []byte) (live map[string]any, err error) {
	err = r.try(ctx, func(ctx context.Context) error {
		live, err = decoded(o.written(ctx, r.rest.Patch(kind), FieldManager).AbsPath(res.path(o.Key.Namespace, o.Key.Name)...).Body(patch).Do(ctx))
		return err
	})
	return live, err
}

// create makes an object that must not exist yet.
func (r *Region) create(ctx context.Context, res resource, o PlannedObject) (live map[string]any, err error) {
	err = r.try(ctx, func(ctx context.Context) error {
		live, err = decoded(o.written(ctx, r.rest.Post(), FieldManager).AbsPath(res.path(o.Key.Namespace, "")...).
			SetHeader("Content-Type", runtime.ContentTypeJSON).Body([]byte(o.Content)).Do(ctx))
		return err
	})
	return live, err
}

// delete deletes an object if it still is the one with this UID, errMoved when it
// is not. It says whether the object is gone already; else finalizers or grace keep
// it for a while.
func (r *Region) delete(ctx context.Context, res resource, o PlannedObject, policy metav1.DeletionPropagation) (gone bool, err error) {
	uid := types.UID(o.UID)
	return r.deleteIf(ctx, res, o.Key, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: &policy})
}

func (r *Region) deleteIf(ctx context.Context, res resource, key gitops.ObjectKey, options metav1.DeleteOptions) (gone bool, err error) {
	options.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}
	if isDry(ctx) {
		options.DryRun = []string{metav1.DryRunAll}
	}
	body, err := json.Marshal(options)
	if err != nil {
		return false, fmt.Errorf("encode the options of a deletion: %w", err)
	}
	err = r.try(ctx, func(ctx context.Context) error {
		answer, err := decoded(r.rest.Delete().AbsPath(res.path(key.Namespace, key.Name)...).MaxRetries(0).
			SetHeader("Content-Type", runtime.ContentTypeJSON).Body(body).Do(ctx))
		gone = answer["kind"] == "Status"
		if apierrors.IsConflict(err) {
			return errMoved
		}
		return err
	})
	return gone, err
}

// get reads one whole object.
func (r *Region) get(ctx context.Context, res resource, namespace, name string) (object map[string]any, err error) {
	err = r.try(ctx, func(ctx context.Context) error {
		object, err = decoded(r.rest.Get().AbsPath(res.path(namespace, name)...).MaxRetries(0).Do(ctx))
		return err
	})
	return object, err
}

// list reads all whole objects of ours in a namespace, or in all of them.
func (r *Region) list(ctx context.Context, res resource, namespace string) (items []map[string]any, err error) {
	var list map[string]any
	err = r.try(ctx, func(ctx context.Context) error {
		list, err = decoded(r.rest.Get().AbsPath(res.path(namespace, "")...).Param("labelSelector", ourSelector).MaxRetries(0).Do(ctx))
		return err
	})
	if err != nil {
		return nil, err
	}
	found, ok := list["items"].([]any)
	if !ok && list["items"] != nil {
		return nil, fmt.Errorf("the list of %s has no items", res.Resource)
	}
	for _, item := range found {
		object, ok := item.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("the list of %s holds something else", res.Resource)
		}
		object["apiVersion"] = res.GroupVersion().String() // which lists leave out
		items = append(items, object)
	}
	return items, nil
}

// listMetadata reads the metadata of all objects in a namespace, or in all of
// them.
func (r *Region) listMetadata(ctx context.Context, res resource, namespace, selector string) (list *metav1.PartialObjectMetadataList, err error) {
	err = r.try(ctx, func(ctx context.Context) error {
		list, err = r.metadata.Resource(res.GroupVersionResource).Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
		return err
	})
	return list, err
}

// getMetadata reads the metadata of one object.
func (r *Region) getMetadata(ctx context.Context, res resource, namespace, name string) (object *metav1.PartialObjectMetadata, err error) {
	err = r.try(ctx, func(ctx context.Context) error {
		object, err = r.metadata.Resource(res.GroupVersionResource).Namespace(namespace).Get(ctx, name, getOptions)
		return err
	})
	return object, err
}
