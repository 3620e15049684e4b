package stack

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// ErrMissingTool says that a program of the stack has not been built. Tests that need it skip on it.
var ErrMissingTool = errors.New("run `make tools` to build it (a few minutes, once)")

// The program in Options.Bin that is etcd, kube-apiserver and the controllers; see deploy/local/kubernetes.
const kubernetesProgram = "tidegate-kubernetes"

// tools are the command lines to start each program with, before its flags.
type tools struct {
	etcd, apiServer, controllers, temporal []string
}

// FindBin returns the folder that `make tools` builds into: .local/bin in the repository that holds the working directory.
func FindBin() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the built tools: %w", err)
	}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "deploy", "local", "stack", "tools.go")); err == nil {
			return filepath.Join(at, ".local", "bin"), nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("find the built tools: %s is not in Tidegate's repository: set Options.Bin", dir)
		}
	}
}

// findTools chooses the programs: the user's own kube-apiserver and etcd if both are there, and the user's own temporal;
// else those built by `make tools`.
func findTools(o Options) (tools, error) {
	ours := filepath.Join(o.Bin, kubernetesProgram)
	t := tools{etcd: []string{ours, "etcd"}, apiServer: []string{ours, "kube-apiserver"}, controllers: []string{ours, "controllers"}}
	if etcd, apiServer, ok := ownKubernetes(o.KubernetesBin); ok {
		t.etcd, t.apiServer = []string{etcd}, []string{apiServer}
	}
	if len(o.Regions) > 0 {
		for _, program := range []string{t.etcd[0], t.apiServer[0], t.controllers[0]} {
			if err := runnable(program); err != nil {
				return t, err
			}
		}
	}
	if !o.Temporal {
		return t, nil
	}
	program, err := exec.LookPath("temporal")
	if err != nil {
		program = filepath.Join(o.Bin, "temporal")
	}
	t.temporal = []string{program}
	return t, runnable(program)
}

// ownKubernetes looks in the folder, or in PATH when none is given.
func ownKubernetes(folder string) (etcd, apiServer string, ok bool) {
	if folder != "" {
		etcd, apiServer = filepath.Join(folder, "etcd"), filepath.Join(folder, "kube-apiserver")
		return etcd, apiServer, runnable(etcd) == nil && runnable(apiServer) == nil
	}
	etcd, err := exec.LookPath("etcd")
	if err != nil {
		return "", "", false
	}
	apiServer, err = exec.LookPath("kube-apiserver")
	return etcd, apiServer, err == nil
}

func runnable(program string) error {
	if _, err := exec.LookPath(program); err != nil {
		return fmt.Errorf("find %s: %w", program, ErrMissingTool)
	}
	return nil
}
