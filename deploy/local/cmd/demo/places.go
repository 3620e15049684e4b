package main

import (
	"fmt"
	"path/filepath"
	"strings"
)

// printPlaces says where things are and what to try next.
func (d *demo) printPlaces() {
	fmt.Printf("\n   Temporal Web UI   %s\n", d.stack.Temporal.UI)
	fmt.Printf("   metrics           http://%s/metrics (serve), http://%s/metrics (worker)\n", d.settings.Metrics.Listen, d.settings.Worker.Metrics)
	fmt.Printf("   regions           kubectl --kubeconfig %s config get-contexts\n", d.rel(d.stack.Kubeconfig))
	fmt.Printf("   logs              %s\n", d.rel(filepath.Join(d.stack.Dir, "logs")))
	fmt.Printf(`
   Try next:
     %[1]s get
     edit %[2]s/frontend.yaml, then commit and push
     %[1]s rollout watch %[3]s --revision COMMIT
     %[1]s approve %[3]s
     make down
`, d.rel(d.bin("tidegate")), d.rel(filepath.Join(d.work, "app")), d.delivery())
}

// rel is a path as somebody in this folder would type it.
func (d *demo) rel(path string) string {
	here, err := filepath.Abs(".")
	if err != nil {
		return path
	}
	if short, err := filepath.Rel(here, path); err == nil && !strings.HasPrefix(short, "..") {
		return short
	}
	return path
}
