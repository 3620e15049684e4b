package kube

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/health"
)

// tracker holds one watch per kind of a region, shared by everybody who waits for
// objects of that kind. A watch is started when it is first needed and kept for a
// while after.
type tracker struct {
	region *Region
	client dynamic.Interface
	ctx    context.Context // bounds the watches, which outlive any call
	stop   context.CancelFunc

	mu      sync.Mutex
	watches map[resource]*kindWatch
	waiting int // how many wait; while it is not zero the region's pulse is taken
	pulsing bool
	known   map[schema.GroupKind]gitops.HealthRule // the catalog's rules, as they were told last
	own     health.Rules                           // made of them
}

// idleAfter is how long a watch is kept that nobody waits on.
const idleAfter = 5 * time.Minute

func newTracker(ctx context.Context, r *Region, client dynamic.Interface) *tracker {
	t := &tracker{region: r, client: client, watches: map[resource]*kindWatch{}, known: map[schema.GroupKind]gitops.HealthRule{}}
	t.ctx, t.stop = context.WithCancel(ctx)
	r.pulse.onRecovery(t.restart)
	return t
}

// learn takes over the catalog's rules about some kinds. The objects of a kind whose
// rule is a new one are judged again.
func (t *tracker) learn(rules []gitops.HealthRule) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	changed := map[schema.GroupKind]bool{}
	for _, r := range rules {
		gk := schema.GroupKind{Group: r.Group, Kind: r.Kind}
		if t.known[gk] != r {
			t.known[gk], changed[gk] = r, true
		}
	}
	if len(changed) == 0 {
		return nil
	}
	own, err := health.NewRules(slices.Collect(maps.Values(t.known)))
	if err != nil {
		return err
	}
	t.own = own
	for _, w := range t.watches {
		w.cancel()
		w.run()
	}
	return nil
}

// rules are the built-in ones and the catalog's.
func (t *tracker) rules() health.Rules {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.own
}

func (t *tracker) close() { t.stop() }

// prepare starts the watch of a kind, so that it is there when it is waited on.
func (t *tracker) prepare(res resource) { t.watch(res).release() }

// watch returns the watch of a kind, started if need be. The caller releases it.
func (t *tracker) watch(res resource) *kindWatch {
	t.mu.Lock()
	defer t.mu.Unlock()
	w, ok := t.watches[res]
	if !ok {
		w = &kindWatch{tracker: t, resource: res, states: map[types.NamespacedName]state{}, waiters: map[types.NamespacedName]map[*waiter]bool{}}
		t.watches[res] = w
		w.run()
	}
	w.users++
	if w.idle != nil {
		w.idle.Stop()
	}
	return w
}

// restart lists all kinds anew: after an outage watches may be sitting out a long
// back-off, or belong to another cluster.
func (t *tracker) restart() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, w := range t.watches {
		w.cancel()
		w.run()
	}
}

// state is what a watch knows of one object.
type state struct {
	uid        string
	generation int64
	deleting   bool
	atWork     bool                // a hook's containers run
	health     gitops.HealthStatus // by its status, also while it is being deleted
	message    string
}

// kindWatch watches all objects of ours of one kind. It keeps their health and
// not the objects.
type kindWatch struct {
	tracker  *tracker
	resource resource
	// Guarded by tracker.mu.
	cancel context.CancelFunc
	users  int
	idle   *time.Timer

	mu      sync.Mutex
	synced  bool
	states  map[types.NamespacedName]state
	waiters map[types.NamespacedName]map[*waiter]bool
}

// run starts the watch; the tracker is locked.
func (w *kindWatch) run() {
	quiet := logr.Discard() // what it would say is in the waits' own words
	ctx, cancel := context.WithCancel(klog.NewContext(w.tracker.ctx, quiet))
	w.cancel = cancel
	client := w.tracker.client.Resource(w.resource.GroupVersionResource)
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.LabelSelector = ourSelector
			return client.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = ourSelector
			return client.Watch(ctx, o)
		},
	}
	reflector := cache.NewReflectorWithOptions(source, &unstructured.Unstructured{}, &sink{w, ctx}, cache.ReflectorOptions{
		Logger: &quiet, Name: w.resource.Resource, TypeDescription: w.resource.Resource,
	})
	go reflector.RunWithContext(ctx)
}

// release lets a watch go; it ends when nobody has asked for it for a while.
func (w *kindWatch) release() {
	t := w.tracker
	t.mu.Lock()
	defer t.mu.Unlock()
	if w.users--; w.users > 0 {
		return
	}
	if w.idle != nil {
		w.idle.Reset(idleAfter)
		return
	}
	w.idle = time.AfterFunc(idleAfter, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if w.users == 0 && t.watches[w.resource] == w {
			w.cancel()
			delete(t.watches, w.resource)
		}
	})
}

// subscribe makes the waiter hear of an object, until unsubscribe.
func (w *kindWatch) subscribe(name types.NamespacedName, who *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiters[name] == nil {
		w.waiters[name] = map[*waiter]bool{}
	}
	w.waiters[name][who] = true
}

func (w *kindWatch) unsubscribe(name types.NamespacedName, who *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.waiters[name], who)
	if len(w.waiters[name]) == 0 {
		delete(w.waiters, name)
	}
}

// look returns what is known of an object; synced is false while nothing is known
// of any.
func (w *kindWatch) look(name types.NamespacedName) (s state, exists, synced bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, exists = w.states[name]
	return s, exists, w.synced
}

func (w *kindWatch) set(name types.NamespacedName, s state) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.states[name] = s
	w.wake(name)
}

func (w *kindWatch) remove(name types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.states, name)
	w.wake(name)
}

func (w *kindWatch) replace(states map[types.NamespacedName]state) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.states, w.synced = states, true
	for name := range w.waiters {
		w.wake(name)
	}
}

// wake tells who waits for an object; w is locked.
func (w *kindWatch) wake(name types.NamespacedName) {
	for who := range w.waiters[name] {
		who.notify()
	}
}

// sink receives what a reflector reads. One whose watch was restarted is deaf: its
// last words must not overwrite its successor's.
type sink struct {
	watch *kindWatch
	ctx   context.Context // of the reflector that feeds it
}

var _ cache.ReflectorStore = (*sink)(nil)

// Add implements cache.ReflectorStore.
func (s *sink) Add(obj any) error { return s.Update(obj) }

// Update implements cache.ReflectorStore.
func (s *sink) Update(obj any) error {
	if name, u, ok := read(obj); ok && s.ctx.Err() == nil {
		s.watch.set(name, stateOf(u, s.watch.tracker.rules()))
	}
	return nil
}

// Delete implements cache.ReflectorStore.
func (s *sink) Delete(obj any) error {
	if name, _, ok := read(obj); ok && s.ctx.Err() == nil {
		s.watch.remove(name)
	}
	return nil
}

// Replace implements cache.ReflectorStore.
func (s *sink) Replace(list []any, _ string) error {
	states, rules := make(map[types.NamespacedName]state, len(list)), s.watch.tracker.rules()
	for _, obj := range list {
		if name, u, ok := read(obj); ok {
			states[name] = stateOf(u, rules)
		}
	}
	if s.ctx.Err() == nil {
		s.watch.replace(states)
	}
	return nil
}

// Resync implements cache.ReflectorStore: there is nothing to repeat.
func (s *sink) Resync() error { return nil }

func read(obj any) (types.NamespacedName, *unstructured.Unstructured, bool) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return types.NamespacedName{}, nil, false
	}
	return types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}, u, true
}

func stateOf(u *unstructured.Unstructured, rules health.Rules) state {
	status, message := rules.OfStatus(u.Object)
	return state{uid: string(u.GetUID()), generation: u.GetGeneration(), deleting: u.GetDeletionTimestamp() != nil, atWork: health.AtWork(u.Object), health: status, message: message}
}
