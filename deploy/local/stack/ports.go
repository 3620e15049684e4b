package stack

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

const loopback = "127.0.0.1"

// Ports are where a stack listens, all on the loopback address. Region is the first region's; the others follow it. Webhook,
// API and Metrics are for Tidegate itself: they are only written into tidegate.yaml.
type Ports struct {
	Temporal     int `json:"temporal"`
	TemporalUI   int `json:"temporalUI"`
	TemporalHTTP int `json:"temporalHTTP"`
	Etcd         int `json:"etcd"`
	EtcdPeer     int `json:"etcdPeer"`
	Region       int `json:"region"`
	Webhook      int `json:"webhook"`
	API          int `json:"api"`
	Metrics      int `json:"metrics"`
}

// DemoPorts are the ports of `make up`: Temporal's where everybody looks for it, the rest in a block of their own.
func DemoPorts() Ports {
	return Ports{
		Temporal: 7233, TemporalUI: 8233, TemporalHTTP: 7243,
		Etcd: 17090, EtcdPeer: 17091, Region: 17100,
		Webhook: 17080, API: 17081, Metrics: 17082,
	}
}

// Port is one of Ports: where it is kept, what listens there, and which variable of `make up` moves it.
type Port struct {
	Number   *int
	Purpose  string
	Variable string
}

// List names every port but the regions'.
func (p *Ports) List() []Port {
	return []Port{
		{&p.Temporal, "Temporal", "TEMPORAL_PORT"},
		{&p.TemporalUI, "Temporal's Web UI", "TEMPORAL_UI_PORT"},
		{&p.TemporalHTTP, "Temporal's HTTP API", "TEMPORAL_HTTP_PORT"},
		{&p.Etcd, "etcd", "ETCD_PORT"},
		{&p.EtcdPeer, "etcd's peers", "ETCD_PEER_PORT"},
		{&p.Webhook, "Tidegate's webhooks", "WEBHOOK_PORT"},
		{&p.API, "Tidegate's API", "API_PORT"},
		{&p.Metrics, "Tidegate's metrics", "METRICS_PORT"},
	}
}

// PortTakenError says that a port is in use by somebody else.
type PortTakenError struct {
	Number   int
	Purpose  string
	Variable string // which variable of `make up` chooses another
	Holder   string // "name (pid 123)", empty when the system does not tell
}

func (e *PortTakenError) Error() string {
	holder := e.Holder
	if holder == "" {
		holder = "another process"
	}
	return fmt.Sprintf("listen on port %d for %s: %s has it: end that, or choose another port: make up %s=%d",
		e.Number, e.Purpose, holder, e.Variable, e.Number+1000)
}

// checkPort returns a *PortTakenError when nobody can listen on the port.
func checkPort(p Port) error {
	listener, err := net.Listen("tcp", net.JoinHostPort(loopback, strconv.Itoa(*p.Number)))
	if errors.Is(err, syscall.EADDRINUSE) {
		return &PortTakenError{Number: *p.Number, Purpose: p.Purpose, Variable: p.Variable, Holder: portHolder(*p.Number)}
	}
	if err != nil {
		return fmt.Errorf("listen on port %d for %s: %w", *p.Number, p.Purpose, err)
	}
	return listener.Close()
}

// Ports for tests come from below the range that systems hand out by themselves, so that no client's connection takes one
// between its choice and its use.
const (
	firstFreePort = 20000
	lastFreePort  = 30000
)

// reservation holds free ports against every other stack of this machine: by a locked file each, until it is released or
// the process ends.
type reservation struct {
	folder string
	files  []*os.File
}

func newReservation() (*reservation, error) {
	folder := filepath.Join(os.TempDir(), fmt.Sprintf("tidegate-ports-%d", os.Getuid()))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("reserve ports: %w", err)
	}
	return &reservation{folder: folder}, nil
}

// take reserves n ports in a row and returns the first.
func (r *reservation) take(n int) (int, error) {
	for range 1000 {
		first := firstFreePort + rand.IntN(lastFreePort-firstFreePort-n) //nolint:gosec // spreads load; nothing secret
		if r.tryRow(first, n) {
			return first, nil
		}
	}
	return 0, fmt.Errorf("reserve %d ports between %d and %d: too many are taken", n, firstFreePort, lastFreePort)
}

// tryRow reserves all n ports or none.
func (r *reservation) tryRow(first, n int) bool {
	had := len(r.files)
	for number := first; number < first+n; number++ {
		file, err := lockFile(filepath.Join(r.folder, strconv.Itoa(number)))
		if err == nil {
			r.files = append(r.files, file)
			err = checkPort(Port{Number: &number})
		}
		if err != nil {
			r.releaseFrom(had)
			return false
		}
	}
	return true
}

// release gives the ports back.
func (r *reservation) release() { r.releaseFrom(0) }

func (r *reservation) releaseFrom(index int) {
	for _, file := range r.files[index:] {
		_ = file.Close() // closing gives up the lock
	}
	r.files = r.files[:index]
}

// lockFile opens a file and locks it against every other process; it fails at once when another has the lock.
func lockFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}
