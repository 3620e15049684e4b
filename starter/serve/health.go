package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// readyTimeout is how long all checks together may take.
const readyTimeout = 2 * time.Second

// check is one thing that must hold for the program to be of use.
type check struct {
	name string
	ask  func(context.Context) error
}

// health answers whether the program lives and whether it is of use.
type health struct {
	mu     sync.Mutex
	checks []check
}

func waitingForTemporal(context.Context) error { return errors.New("not connected yet") }

// set replaces the checks.
func (h *health) set(checks ...check) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.checks = checks
}

func (h *health) register(mux *http.ServeMux) {
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", h.ready)
}

func (h *health) ready(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	checks := h.checks
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	for _, c := range checks {
		if err := c.ask(ctx); err != nil {
			http.Error(w, c.name+": "+err.Error(), http.StatusServiceUnavailable)
			return
		}
	}
	_, _ = fmt.Fprintln(w, "ok")
}
