package webhook

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	defaultWindow = 5 * time.Minute
	defaultLimit  = 10_000
)

// Deduper remembers the deliveries that were handled, so that a redelivery is answered and not handled again. A delivery
// whose handling failed is forgotten: its redelivery is the retry. What it forgets (by age, by number, by a restart) is
// handled twice, which is harmless: a Push is a hint. It is safe for concurrent use; the zero value is ready.
type Deduper struct {
	// Window is how long a handled delivery is remembered; five minutes when zero.
	Window time.Duration
	// Limit is how many handled deliveries are remembered, newest first; 10,000 when zero.
	Limit int
	// Now is the clock; time.Now when nil.
	Now func() time.Time

	mu      sync.Mutex
	open    map[string]chan struct{} // closed when the delivery's claim ends
	handled map[string]*list.Element
	order   list.List // of handledDelivery, oldest first
}

type handledDelivery struct {
	key string
	at  time.Time
}

// Claim is the right, and the duty, to handle one delivery: end it with Commit or Abort.
type Claim struct {
	deduper *Deduper
	key     string
	once    sync.Once
}

// Begin claims the delivery called key. It returns nil and no error when the delivery was handled already. While another
// claim on it is open Begin waits for its end, or for the end of ctx, whose error it returns.
func (d *Deduper) Begin(ctx context.Context, key string) (*Claim, error) {
	for {
		claim, wait := d.try(key)
		if wait == nil {
			return claim, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the same delivery to be handled: %w", ctx.Err())
		case <-wait:
		}
	}
}

func (d *Deduper) try(key string) (claim *Claim, wait <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forget()
	if d.handled[key] != nil {
		return nil, nil
	}
	if ended, ok := d.open[key]; ok {
		return nil, ended
	}
	if d.open == nil {
		d.open = map[string]chan struct{}{}
	}
	d.open[key] = make(chan struct{})
	return &Claim{deduper: d, key: key}, nil
}

// Commit says that the delivery was handled.
func (c *Claim) Commit() { c.end(true) }

// Abort says that it was not, so that a redelivery is handled. After Commit it does nothing: defer it.
func (c *Claim) Abort() { c.end(false) }

func (c *Claim) end(handled bool) {
	c.once.Do(func() {
		d := c.deduper
		d.mu.Lock()
		defer d.mu.Unlock()
		close(d.open[c.key])
		delete(d.open, c.key)
		if !handled {
			return
		}
		if d.handled == nil {
			d.handled = map[string]*list.Element{}
		}
		d.handled[c.key] = d.order.PushBack(handledDelivery{key: c.key, at: d.now()})
		d.forget()
	})
}

// forget drops what is too old or too much.
func (d *Deduper) forget() {
	window, limit := d.Window, d.Limit
	if window == 0 {
		window = defaultWindow
	}
	if limit == 0 {
		limit = defaultLimit
	}
	for oldest := d.order.Front(); oldest != nil; oldest = d.order.Front() {
		delivery := oldest.Value.(handledDelivery)
		if d.order.Len() <= limit && d.now().Sub(delivery.at) < window {
			return
		}
		d.order.Remove(oldest)
		delete(d.handled, delivery.key)
	}
}

func (d *Deduper) now() time.Time {
	if d.Now == nil {
		return time.Now()
	}
	return d.Now()
}
