package sandbox

import "sync"

// capped keeps what is written to it, up to a limit; the write that passes it
// calls exceeded, once, and everything after is thrown away. It must not embed a
// bytes.Buffer: io.Copy would go around the limit by the buffer's ReadFrom.
type capped struct {
	limit    int64
	exceeded func()

	mu   sync.Mutex
	data []byte
	over bool
}

func (w *capped) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.over:
	case int64(len(w.data)+len(p)) > w.limit:
		w.over, w.data = true, nil
		w.exceeded()
	default:
		w.data = append(w.data, p...)
	}
	return len(p), nil
}

func (w *capped) result() (data []byte, over bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.data, w.over
}

// tail keeps the last bytes that are written to it, and the first few: a Go
// program says first what it dies of, and then where each of its goroutines was.
type tail struct {
	limit int

	mu   sync.Mutex
	data []byte
	head []byte
}

const headLimit = 2 << 10

func (w *tail) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.head = append(w.head, p[:min(len(p), headLimit-len(w.head))]...)
	w.data = append(w.data, p[max(0, len(p)-w.limit):]...)
	w.data = w.data[max(0, len(w.data)-w.limit):]
	return len(p), nil
}

func (w *tail) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.data)
}

// begin returns the first bytes.
func (w *tail) begin() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.head)
}
