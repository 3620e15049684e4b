// Command tidegate-render renders one folder of a checkout: it reads a
// render.Request from its standard input and writes a render.Result to its
// standard output. The checkout is its working directory. It is meant to be run
// in a sandbox.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/tidegate/tidegate/internal/render/renderer"
	"github.com/tidegate/tidegate/internal/sandbox"
)

func main() {
	ctx := context.Background()
	mounts := os.Getenv(sandbox.MountsVariable)
	sandbox.ServeSlot(func(stdin io.Reader, stdout io.Writer) error { return renderer.Run(ctx, ".", mounts, stdin, stdout) }, renderer.Warm)
	renderer.Prepare()
	if err := renderer.Run(ctx, ".", mounts, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "tidegate-render:", err)
		os.Exit(2)
	}
}
