package stack

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
)

// etcdCommand runs the etcd that all regions share. It never waits for the disk: what it holds does not outlive the stack.
func (s *Stack) etcdCommand() Command {
	client := httpURL(s.options.Ports.Etcd)
	peer := httpURL(s.options.Ports.EtcdPeer)
	return s.command(etcdName, append(s.tools.etcd,
		"--name=local",
		"--data-dir="+filepath.Join(s.options.Dir, "etcd"),
		"--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=local="+peer,
		"--unsafe-no-fsync",
		"--quota-backend-bytes=8589934592",
		"--auto-compaction-mode=periodic", "--auto-compaction-retention=10m",
		"--log-level=warn",
	))
}

// startEtcd starts it unless it runs, and waits until it is ready.
func (s *Stack) startEtcd(ctx context.Context) error {
	return s.ensure(ctx, s.etcd, s.etcdCommand(), func(ctx context.Context) error {
		return get(ctx, http.DefaultClient, httpURL(s.options.Ports.Etcd)+"/health")
	})
}

func httpURL(port int) string { return fmt.Sprintf("http://%s:%d", loopback, port) }

// get returns an error unless the URL answers 200.
func get(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // nothing is lost
	if response.StatusCode == http.StatusOK {
		return nil
	}
	body, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
	return fmt.Errorf("get %s: %s: %s", url, response.Status, body)
}
