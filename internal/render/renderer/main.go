// Command tidegate-render renders one folder of a checkout: it reads a
// render.Request as JSON from its standard input and writes a render.Result to
// its standard output. It opens nothing outside of the tree that the request
// names, and is meant to be run in a sandbox.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/tidegate/tidegate/internal/render"
)

func main() {
	var request render.Request
	if err := json.NewDecoder(os.Stdin).Decode(&request); err != nil {
		fmt.Fprintln(os.Stderr, "tidegate-render: read a render request from standard input:", err)
		os.Exit(2)
	}
	result, err := renderRequest(request)
	if err != nil {
		fault := &render.Error{Kind: render.KindBuild, File: request.Path, Message: err.Error()}
		errors.As(err, &fault)
		result = render.Result{Renderer: result.Renderer, Error: fault}
	}
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		fmt.Fprintln(os.Stderr, "tidegate-render: write the result:", err)
		os.Exit(2)
	}
}

// renderRequest finds out what kind of folder it is, as Argo CD does, and
// renders it.
func renderRequest(request render.Request) (render.Result, error) {
	t, err := openTree(request.Tree)
	if err != nil {
		return render.Result{}, err
	}
	path, err := t.folder(request.Path)
	if err != nil {
		return render.Result{}, err
	}
	if t.isFile(join(path, "Chart.yaml")) {
		return render.Result{}, &render.Error{Kind: render.KindUnsupported, File: join(path, "Chart.yaml"), Message: "Helm charts are not supported yet; render the chart into the repository"}
	}
	if file, ok := t.kustomization(path); ok {
		return kustomizeFolder(t, path, file, request.Kustomize)
	}
	if request.Kustomize != nil {
		return render.Result{}, &render.Error{Kind: render.KindBuild, File: path, Message: "the Application has kustomize options, but this folder has no kustomization.yaml"}
	}
	return plainFolder(t, path, request.Directory)
}
