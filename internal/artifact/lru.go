package artifact

import (
	"container/list"
	"sync"
)

// lru keeps the values used last, up to a total weight, and forgets the others. It is safe for concurrent use.
type lru[K comparable, V any] struct {
	mu      sync.Mutex
	limit   int64
	weight  int64
	order   *list.List // front: used last
	entries map[K]*list.Element
}

type lruEntry[K comparable, V any] struct {
	key    K
	value  V
	weight int64
}

func newLRU[K comparable, V any](limit int64) *lru[K, V] {
	return &lru[K, V]{limit: limit, order: list.New(), entries: map[K]*list.Element{}}
}

func (l *lru[K, V]) get(key K) (V, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, ok := l.entries[key]
	if !ok {
		var none V
		return none, false
	}
	l.order.MoveToFront(e)
	return e.Value.(lruEntry[K, V]).value, true
}

// add keeps value under key, unless it alone is heavier than the limit.
func (l *lru[K, V]) add(key K, value V, weight int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(l.entries[key])
	if weight > l.limit {
		return
	}
	l.entries[key] = l.order.PushFront(lruEntry[K, V]{key, value, weight})
	l.weight += weight
	for l.weight > l.limit {
		l.drop(l.order.Back())
	}
}

func (l *lru[K, V]) remove(key K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(l.entries[key])
}

func (l *lru[K, V]) drop(e *list.Element) {
	if e == nil {
		return
	}
	entry := l.order.Remove(e).(lruEntry[K, V])
	delete(l.entries, entry.key)
	l.weight -= entry.weight
}
