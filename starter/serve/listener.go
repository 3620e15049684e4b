package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
)

// stopTimeout is how long requests may go on after the program was told to stop.
const stopTimeout = 5 * time.Second

// listener is one address and what answers there.
type listener struct {
	name    string // in settings and messages
	address string // host:port
	handler http.Handler
	log     *zap.Logger
}

// listen opens the address at once, and has the group answer there until ctx
// ends.
func listen(ctx context.Context, group *errgroup.Group, l listener) error {
	socket, err := new(net.ListenConfig).Listen(ctx, "tcp", l.address)
	if err != nil {
		return fmt.Errorf("listen for %s: %w; free the address, or set %s.listen to another", l.name, err, l.name)
	}
	server := &http.Server{
		Handler:           recovered(l.handler, l.log),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      60 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          zap.NewStdLog(l.log.WithOptions(zap.IncreaseLevel(zap.WarnLevel))),
	}
	l.log.Info("listening", zap.String("for", l.name), zap.String("address", socket.Addr().String()))
	group.Go(func() error {
		if err := server.Serve(socket); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve %s: %w", l.name, err)
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			_ = server.Close()
		}
		return nil
	})
	return nil
}

// recovered keeps a panic in one request from taking the others with it.
func recovered(next http.Handler, log *zap.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if p := recover(); p != nil {
				if p == http.ErrAbortHandler { //nolint:errorlint // the very value that net/http asks for
					panic(p)
				}
				log.Error("a request panicked", zap.String("method", r.Method), zap.String("path", r.URL.Path), zap.Any("panic", p), zap.Stack("stack"))
				w.WriteHeader(http.StatusInternalServerError)
			}
		}()
		next.ServeHTTP(w, r)
	})
}
