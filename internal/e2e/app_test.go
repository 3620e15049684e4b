package e2e_test

import (
	"fmt"
	"strings"
	"time"
)

// workload is a Deployment of a sample application. Its pods run nothing: the
// local stack plays them.
type workload struct {
	name, image string
	wave        int
	takes       time.Duration // until its pods are ready
	fail        string        // keeps them from ever being ready; the message that they show
}

func (d workload) String() string {
	var notes strings.Builder
	if d.takes > 0 {
		fmt.Fprintf(&notes, ", local.tidegate.dev/duration: %s", d.takes)
	}
	if d.fail != "" {
		fmt.Fprintf(&notes, ", local.tidegate.dev/fail: %q", d.fail)
	}
	return fmt.Sprintf(`---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: %[1]s
  annotations: {argocd.argoproj.io/sync-wave: "%[3]d"}
spec:
  replicas: 1
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata:
      labels: {app: %[1]s}
      annotations: {sample: "yes"%[4]s}
    spec:
      containers: [{name: main, image: %[2]q}]
`, d.name, d.image, d.wave, notes.String())
}

// web is the application of most tests: one Deployment.
func web(image string) files {
	return files{"app/web.yaml": workload{name: "web", image: image}.String()}
}
