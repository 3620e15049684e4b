// Package renderer turns one folder of a checkout into Kubernetes objects. It
// opens nothing outside of the checkout, writes nothing, starts nothing and has
// no network; the program tidegate-render, which a sandbox holds to that, is
// little more than this package.
package renderer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"

	"github.com/tidegate/tidegate/internal/render"
)

// gcPercent trades memory for time: the program lives for a moment, and
// GOMEMLIMIT bounds it anyway.
const gcPercent = 400

// Prepare does what can be done before there is a request. It changes the process
// as a whole: it has no network afterwards.
func Prepare() {
	debug.SetGCPercent(gcPercent)
	cutNetwork()
}

// Run answers one request about the checkout in dir, with the checkouts of other
// sources in folders of mounts: it reads a render.Request and
// writes a render.Result. What is wrong with the source is part of the result; an
// error means that there is none.
func Run(ctx context.Context, dir, mounts string, in io.Reader, out io.Writer) error {
	var request render.Request
	if err := json.NewDecoder(in).Decode(&request); err != nil {
		return fmt.Errorf("read a render request from standard input: %w", err)
	}
	t, err := openTree(dir, mounts)
	if err != nil {
		return err
	}
	result, err := renderRequest(ctx, t, request)
	if needs := t.missing(); len(needs) > 0 {
		// Whatever else there is to say comes when they are there.
		return render.WriteResult(out, render.Result{Renderer: result.Renderer, Needs: needs})
	}
	if err == nil {
		result, err = substitute(result, request.Substitute)
	}
	var fault *render.Error
	if err != nil && !errors.As(err, &fault) {
		return err
	}
	if fault != nil {
		t.speak(fault)
	}
	result.Error, result.Reads, result.RefReads = fault, t.paths(), t.refPaths()
	return render.WriteResult(out, result)
}

// cutNetwork takes away what Kustomize fetches remote files with.
func cutNetwork() { http.DefaultTransport = noNetwork{} }

// noNetwork refuses every request.
type noNetwork struct{}

var errNetwork = errors.New("a render has no network")

// RoundTrip fails.
func (noNetwork) RoundTrip(*http.Request) (*http.Response, error) { return nil, errNetwork }
