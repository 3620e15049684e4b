package main

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

// settle calls step for every object of the informer that was added or changed: again after the time that step returns,
// when there is one, and with growing pauses when it fails. Objects that are gone or changed meanwhile are no failure: their
// next event counts. It ends with the context.
func settle[T metav1.Object](ctx context.Context, informer cache.SharedIndexInformer, workers int, step func(context.Context, T) (time.Duration, error)) {
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	add := func(object any) {
		if key, err := cache.MetaNamespaceKeyFunc(object); err == nil {
			queue.Add(key)
		}
	}
	// The informer has not been started: this cannot fail.
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, updated any) { add(updated) }})
	for range workers {
		go func() {
			for {
				key, ended := queue.Get()
				if ended {
					return
				}
				settleOne(ctx, queue, informer.GetStore(), key, step)
			}
		}()
	}
	context.AfterFunc(ctx, queue.ShutDown)
}

func settleOne[T metav1.Object](ctx context.Context, queue workqueue.TypedRateLimitingInterface[string], store cache.Store, key string, step func(context.Context, T) (time.Duration, error)) {
	defer queue.Done(key)
	object, exists, _ := store.GetByKey(key)
	typed, ok := object.(T)
	if !exists || !ok {
		return
	}
	again, err := step(ctx, typed)
	switch {
	case err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err):
		klog.ErrorS(err, "Settling", "object", key)
		queue.AddRateLimited(key)
	case again > 0:
		queue.Forget(key)
		queue.AddAfter(key, again)
	default:
		queue.Forget(key)
	}
}
