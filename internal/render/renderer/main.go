// Command tidegate-render renders one folder of a checkout: it reads a
// render.Request from its standard input and writes a render.Result to its
// standard output. The checkout is its working directory; it opens nothing
// outside of it, writes nothing, starts nothing and has no network. It is meant
// to be run in a sandbox, which holds it to that.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime/debug"

	"github.com/tidegate/tidegate/internal/render"
)

// gcPercent trades memory for time: the program lives for a moment, and
// GOMEMLIMIT bounds it anyway.
const gcPercent = 400

func main() {
	debug.SetGCPercent(gcPercent)
	cutNetwork()
	if err := run(".", os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "tidegate-render:", err)
		os.Exit(2)
	}
}

// run answers one request about the checkout in dir.
func run(dir string, in io.Reader, out io.Writer) error {
	var request render.Request
	if err := json.NewDecoder(in).Decode(&request); err != nil {
		return fmt.Errorf("read a render request from standard input: %w", err)
	}
	t, err := openTree(dir)
	if err != nil {
		return err
	}
	result, err := renderRequest(t, request)
	var fault *render.Error
	if err != nil && !errors.As(err, &fault) {
		return err
	}
	result.Error, result.Reads = fault, t.paths()
	return render.WriteResult(out, result)
}

// cutNetwork takes away what Kustomize fetches remote files with.
func cutNetwork() { http.DefaultTransport = noNetwork{} }

// noNetwork refuses every request.
type noNetwork struct{}

var errNetwork = errors.New("a render has no network")

// RoundTrip fails.
func (noNetwork) RoundTrip(*http.Request) (*http.Response, error) { return nil, errNetwork }
