package stack

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

const loopback = "127.0.0.1"

// Ports are where a stack listens, all on the loopback address. Region is the first region's; the others follow it. Those
// from Webhook on are for Tidegate itself: they are only written into tidegate.yaml.
type Ports struct {
	Temporal      int `json:"temporal"`
	TemporalUI    int `json:"temporalUI"`
	TemporalHTTP  int `json:"temporalHTTP"`
	Etcd          int `json:"etcd"`
	EtcdPeer      int `json:"etcdPeer"`
	Region        int `json:"region"`
	Webhook       int `json:"webhook"`
	API           int `json:"api"`
	Metrics       int `json:"metrics"`
	WorkerMetrics int `json:"workerMetrics"`
}

// DemoPorts are the ports of `make up`: Temporal's where everybody looks for it, the rest in a block of their own.
func DemoPorts() Ports {
	return Ports{
		Temporal: 7233, TemporalUI: 8233, TemporalHTTP: 7243,
		Etcd: 17090, EtcdPeer: 17091, Region: 17100,
		Webhook: 17080, API: 17081, Metrics: 17082, WorkerMetrics: 17083,
	}
}

// Port is one of Ports: where it is kept, what listens there, and which variable of `make up` moves it.
type Port struct {
	Number   *int
	Purpose  string
	Variable string
	offset   int // from the port that the variable sets
}

// List names every port; the last is the first region's.
func (p *Ports) List() []Port {
	return []Port{
		{Number: &p.Temporal, Purpose: "Temporal", Variable: "TEMPORAL_PORT"},
		{Number: &p.TemporalUI, Purpose: "Temporal's Web UI", Variable: "TEMPORAL_UI_PORT"},
		{Number: &p.TemporalHTTP, Purpose: "Temporal's HTTP API", Variable: "TEMPORAL_HTTP_PORT"},
		{Number: &p.Etcd, Purpose: "etcd", Variable: "ETCD_PORT"},
		{Number: &p.EtcdPeer, Purpose: "etcd's peers", Variable: "ETCD_PEER_PORT"},
		{Number: &p.Webhook, Purpose: "Tidegate's webhooks", Variable: "WEBHOOK_PORT"},
		{Number: &p.API, Purpose: "Tidegate's API", Variable: "API_PORT"},
		{Number: &p.Metrics, Purpose: "Tidegate's metrics", Variable: "METRICS_PORT"},
		{Number: &p.WorkerMetrics, Purpose: "the worker's metrics", Variable: "WORKER_METRICS_PORT"},
		{Number: &p.Region, Purpose: "the regions, one after another", Variable: "REGION_PORT"},
	}
}

// Override takes the ports that variables name, as getenv knows them; what is empty stays.
func (p *Ports) Override(getenv func(string) string) error {
	var wrong []error
	for _, port := range p.List() {
		text := getenv(port.Variable)
		if text == "" {
			continue
		}
		number, err := strconv.ParseUint(text, 10, 16)
		if err != nil || number == 0 {
			wrong = append(wrong, fmt.Errorf("read the variable %s: want a port from 1 to 65535, got %q", port.Variable, text))
			continue
		}
		*port.Number = int(number)
	}
	return errors.Join(wrong...)
}

// PortTakenError says that a port is in use by somebody else.
type PortTakenError struct {
	Number   int
	Purpose  string
	Variable string // which variable of `make up` chooses another
	Instead  int    // what to set it to
	Holder   string // "name (pid 123)", empty when the system does not tell
}

func (e *PortTakenError) Error() string {
	holder := e.Holder
	if holder == "" {
		holder = "another process"
	}
	return fmt.Sprintf("listen on port %d for %s: %s has it: end that, or choose another port: make up %s=%d",
		e.Number, e.Purpose, holder, e.Variable, e.Instead)
}

// checkPort returns a *PortTakenError when nobody can listen on the port.
func checkPort(p Port) error {
	listener, err := net.Listen("tcp", net.JoinHostPort(loopback, strconv.Itoa(*p.Number)))
	if errors.Is(err, syscall.EADDRINUSE) {
		return &PortTakenError{
			Number: *p.Number, Purpose: p.Purpose, Holder: portHolder(*p.Number),
			Variable: p.Variable, Instead: *p.Number - p.offset + 10000,
		}
	}
	if err != nil {
		return fmt.Errorf("listen on port %d for %s: %w", *p.Number, p.Purpose, err)
	}
	return listener.Close()
}
