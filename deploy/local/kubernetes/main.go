// Command tidegate-kubernetes is every part of the local regions in one static binary: etcd, the Kubernetes API server, and
// the controllers that bring workloads to life without a node.
//
// The first argument names the part: etcd, kube-apiserver or controllers. The first two take the flags that they take
// everywhere.
package main

import (
	"fmt"
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // the API server's client metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // the API server's version metric
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

const usage = `usage: tidegate-kubernetes PART …
  etcd            FLAGS…
  kube-apiserver  FLAGS…
  controllers     REGION=KUBECONFIG…   the controllers of every region named, each independent of the others
`

func main() {
	if len(os.Args) < 2 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	os.Args = os.Args[1:] // each part finds its own name first, and its flags after it
	switch os.Args[0] {
	case "etcd":
		etcdmain.Main(os.Args)
	case "kube-apiserver":
		os.Exit(cli.Run(app.NewAPIServerCommand()))
	case "controllers":
		if err := controllers(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, "controllers:", err)
			os.Exit(1)
		}
	default:
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
}
