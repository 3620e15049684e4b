package main

import (
	"fmt"
	"strings"
	"sync"

	genericapiserver "k8s.io/apiserver/pkg/server"
)

// controllers runs the controllers of the regions, each given as NAME=KUBECONFIG, until SIGINT or SIGTERM. A region that is
// down, frozen or not there yet is tried again for ever and costs the others nothing.
func controllers(args []string) error {
	regions := make([]*region, 0, len(args))
	for _, arg := range args {
		name, kubeconfig, ok := strings.Cut(arg, "=")
		if !ok {
			return fmt.Errorf("read %q: want REGION=KUBECONFIG", arg)
		}
		r, err := newRegion(name, kubeconfig)
		if err != nil {
			return err
		}
		regions = append(regions, r)
	}
	ctx := genericapiserver.SetupSignalContext()
	var all sync.WaitGroup
	for _, r := range regions {
		all.Go(func() { r.run(ctx) })
	}
	all.Wait()
	return nil
}
