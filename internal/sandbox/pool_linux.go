package sandbox

import (
	"context"
	"errors"
	"time"
)

var errClosed = errors.New("the sandbox is closed")

// retryDelay is how long the pool waits after a slot could not be started.
const retryDelay = time.Second

// fill keeps idle slots ready until the sandbox is closed. It holds one itself,
// so that the channel has room for the others.
func (n *Native) fill() {
	defer n.filling.Done()
	for {
		s, ok := n.another()
		if !ok {
			return
		}
		if s == nil {
			continue
		}
		select {
		case n.idle <- s:
		case <-n.closed:
			n.release(s)
			return
		}
	}
}

// another starts a slot as soon as there may be one more. It returns none after a
// while when that went wrong, and false when the sandbox is closed.
func (n *Native) another() (*slot, bool) {
	select {
	case number := <-n.numbers:
		if s, err := n.replace(number); err == nil {
			return s, true
		}
	case <-n.closed:
		return nil, false
	}
	select {
	case <-time.After(retryDelay):
		return nil, true
	case <-n.closed:
		return nil, false
	}
}

// replace starts a slot; its number is free again when that goes wrong.
func (n *Native) replace(number int) (*slot, error) {
	s, err := n.startSlot(number)
	if n.options.Observer != nil {
		n.options.Observer.SlotReplaced(err)
	}
	if err != nil {
		n.numbers <- number
		return nil, err
	}
	n.alive.Add(1)
	return s, nil
}

// acquire returns a slot that is alive: an idle one, else a new one, else the
// next that there is.
func (n *Native) acquire(ctx context.Context) (*slot, error) {
	begin := time.Now()
	for {
		s, err := n.next(ctx)
		if err != nil {
			return nil, err
		}
		select {
		case <-s.ended: // it died waiting
			n.release(s)
			continue
		default:
		}
		if n.options.Observer != nil {
			n.options.Observer.SlotTaken(time.Since(begin))
		}
		return s, nil
	}
}

func (n *Native) next(ctx context.Context) (*slot, error) {
	select {
	case s := <-n.idle:
		return s, nil
	default:
	}
	select {
	case s := <-n.idle:
		return s, nil
	case number := <-n.numbers:
		return n.replace(number)
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-n.closed:
		return nil, errClosed
	}
}

// release ends a slot. One that does not die keeps its number.
func (n *Native) release(s *slot) {
	err := s.end()
	n.alive.Add(-1)
	if err == nil {
		n.numbers <- s.n
	} else if n.options.Observer != nil {
		n.options.Observer.SlotReplaced(err)
	}
}
