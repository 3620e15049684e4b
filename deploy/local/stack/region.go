package stack

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
)

// Region is one Kubernetes API server with everything in it.
type Region struct {
	Name       string
	Labels     map[string]string
	URL        string // of its API
	Kubeconfig string // its contexts: the region's name (for people), and one named after each user
	AuditLog   string // who asked for what, one JSON object a line; empty unless Options.AuditLog

	stack   *Stack
	port    int
	process *Process
}

// PID is the number of the API server's process.
func (r *Region) PID() int { return r.process.PID() }

// Alive reports whether the API server's process runs; a frozen one does.
func (r *Region) Alive() bool { return r.process.Alive() }

// Kill ends the API server as a crash would. What it stored is kept.
func (r *Region) Kill() error { return r.process.Kill() }

// Freeze makes the API server hang: connections stay open and nothing answers.
func (r *Region) Freeze() error { return r.process.Freeze() }

// Thaw lets a frozen API server go on.
func (r *Region) Thaw() error { return r.process.Thaw() }

// Restart starts the API server again, with what it had stored, and waits until it is ready. One that runs is killed first.
func (r *Region) Restart(ctx context.Context) error {
	if r.Alive() {
		if err := r.Kill(); err != nil {
			return err
		}
	}
	return r.start(ctx)
}

// Replace starts another, empty cluster at the same address, as after a disaster, and waits until it is ready.
func (r *Region) Replace(ctx context.Context) error {
	if r.Alive() {
		if err := r.Kill(); err != nil {
			return err
		}
	}
	if err := writeFile(r.generationFile(), []byte(strconv.Itoa(r.generation()+1))); err != nil {
		return fmt.Errorf("replace region %s: %w", r.Name, err)
	}
	return r.start(ctx)
}

// Ready returns an error unless the API server says that it is ready.
func (r *Region) Ready(ctx context.Context) error {
	certificate, err := os.ReadFile(certificatesIn(r.stack.options.Dir).cert)
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(certificate) {
		return errors.New("read the API servers' certificate: there is none")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true}
	return get(ctx, &http.Client{Transport: transport}, r.URL+"/readyz")
}

// start starts the API server unless it runs, and waits until it is ready.
func (r *Region) start(ctx context.Context) error {
	return r.stack.ensure(ctx, r.process, r.command(), r.Ready)
}

// command runs the API server as real clusters do, but for what only a real node or volume could do.
func (r *Region) command() Command {
	s, certs := r.stack, certificatesIn(r.stack.options.Dir)
	argv := append(s.tools.apiServer,
		"--etcd-servers="+httpURL(s.options.Ports.Etcd),
		"--etcd-prefix="+fmt.Sprintf("/%s/%d", r.Name, r.generation()),
		"--etcd-compaction-interval=0", // etcd does it for all
		"--etcd-count-metric-poll-period=0",
		"--etcd-db-metric-poll-interval=0",
		"--bind-address="+loopback,
		"--advertise-address="+loopback,
		"--secure-port="+strconv.Itoa(r.port),
		"--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=10.0.0.0/16",
		"--tls-cert-file="+certs.cert,
		"--tls-private-key-file="+certs.key,
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+certs.key,
		"--service-account-signing-key-file="+certs.key,
		"--token-auth-file="+s.tokenFile(),
		"--authorization-mode=RBAC",
		"--disable-admission-plugins=ServiceAccount,StorageObjectInUseProtection,TaintNodesByCondition", // their controllers are not here
		"--profiling=false",
	)
	if r.AuditLog != "" {
		argv = append(argv, "--audit-policy-file="+s.policyFile(), "--audit-log-path="+r.AuditLog, "--audit-log-maxsize=100", "--audit-log-maxbackup=1")
	}
	return s.command(r.process.Name, argv)
}

// generation counts the clusters that have lived at this address; each has a prefix of its own in etcd.
func (r *Region) generation() int {
	text, err := os.ReadFile(r.generationFile())
	if err != nil {
		return 1
	}
	n, _ := strconv.Atoi(string(text))
	return max(1, n)
}

func (r *Region) generationFile() string {
	return filepath.Join(filepath.Dir(r.Kubeconfig), "generation")
}

// controllersCommand runs the controllers of all regions.
func (s *Stack) controllersCommand() Command {
	argv := s.tools.controllers
	for _, r := range s.Regions {
		argv = append(argv, r.Name+"="+r.Kubeconfig)
	}
	return s.command(controllersName, argv)
}
