package stack

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// The names of the servers' processes; a region's is regionPrefix and its name.
const (
	etcdName        = "etcd"
	controllersName = "controllers"
	temporalName    = "temporal"
	regionPrefix    = "region-"
)

// Stack is a running Temporal and its regions.
type Stack struct {
	Dir        string
	Regions    []*Region // in the order of Options.Regions
	Temporal   *Temporal // nil unless Options.Temporal
	Kubeconfig string    // path; every region's context, for people
	Settings   string    // path of tidegate.yaml

	options           Options
	tools             tools
	etcd, controllers *Process
	ports             *reservation
}

// Start starts a stack in a folder where none runs, and returns when every part of it is ready. When it cannot, or when the
// context ends, it leaves no process behind; the error quotes what the part that failed printed last.
func Start(ctx context.Context, o Options) (*Stack, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	unlock, err := lock(o.Dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return start(ctx, o)
}

// start is Start for who has the lock and has completed the options.
func start(ctx context.Context, o Options) (*Stack, error) {
	left, err := running(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("start the stack: %w", err)
	}
	if len(left) > 0 {
		return nil, fmt.Errorf("start the stack: %d of its processes run already in %s: end them with Down", len(left), o.Dir)
	}
	programs, err := findTools(o)
	if err != nil {
		return nil, fmt.Errorf("start the stack: %w", err)
	}
	ports, err := choosePorts(&o)
	if err != nil {
		return nil, fmt.Errorf("start the stack: %w", err)
	}
	s := assemble(o, programs)
	s.ports = ports
	err = s.firstStart(ctx)
	if err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// firstStart writes all that the processes need, and starts them.
func (s *Stack) firstStart(ctx context.Context) error {
	for _, write := range []func() error{s.writeAccess, s.writeSettings, func() error { return s.save(false) }} {
		if err := write(); err != nil {
			return fmt.Errorf("start the stack: %w", err)
		}
	}
	if err := s.ensureAll(ctx); err != nil {
		return err
	}
	return s.save(true)
}

// assemble describes the stack's parts; it starts nothing.
func assemble(o Options, programs tools) *Stack {
	s := &Stack{
		Dir: o.Dir, Kubeconfig: filepath.Join(o.Dir, "kubeconfig"), Settings: filepath.Join(o.Dir, "tidegate.yaml"),
		options: o, tools: programs,
		etcd: newProcess(o.Dir, etcdName), controllers: newProcess(o.Dir, controllersName),
	}
	for i, spec := range o.Regions {
		port := o.Ports.Region + i
		folder := filepath.Join(o.Dir, "regions", spec.Name)
		r := &Region{
			Name: spec.Name, Labels: spec.Labels, URL: fmt.Sprintf("https://%s:%d", loopback, port), Kubeconfig: filepath.Join(folder, "kubeconfig"),
			stack: s, port: port, process: newProcess(o.Dir, regionPrefix+spec.Name),
		}
		if o.AuditLog {
			r.AuditLog = filepath.Join(folder, "audit.log")
		}
		s.Regions = append(s.Regions, r)
	}
	if o.Temporal {
		s.Temporal = &Temporal{Address: fmt.Sprintf("%s:%d", loopback, o.Ports.Temporal), stack: s, process: newProcess(o.Dir, temporalName)}
		if o.UI {
			s.Temporal.UI = httpURL(o.Ports.TemporalUI)
		}
	}
	return s
}

// ensureAll starts every part that does not run, and returns when all are ready.
func (s *Stack) ensureAll(ctx context.Context) error {
	all, starting := errgroup.WithContext(ctx)
	if s.Temporal != nil {
		all.Go(func() error { return s.Temporal.start(starting) })
	}
	if len(s.Regions) > 0 {
		all.Go(func() error { return s.ensureRegions(starting) })
	}
	return all.Wait()
}

// startAtOnce is how many API servers start at the same time: with all of them at
// once on few cores, none gets ready.
const startAtOnce = 5

func (s *Stack) ensureRegions(ctx context.Context) error {
	if err := s.startEtcd(ctx); err != nil {
		return err
	}
	all, starting := errgroup.WithContext(ctx)
	all.SetLimit(startAtOnce)
	for _, r := range s.Regions {
		all.Go(func() error { return r.start(starting) })
	}
	if err := all.Wait(); err != nil || s.options.NoControllers {
		return err
	}
	return s.ensure(ctx, s.controllers, s.controllersCommand(), s.Regions[len(s.Regions)-1].Ready)
}

// ensure starts the process unless it runs, and waits until it is ready.
func (s *Stack) ensure(ctx context.Context, p *Process, c Command, ready func(context.Context) error) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	began := time.Now()
	if !p.Alive() {
		if err := p.start(c); err != nil {
			return err
		}
	}
	if err := p.waitReady(ctx, ready); err != nil {
		return err
	}
	s.options.Progress(fmt.Sprintf("%-20s ready after %.1f s", p.Name, time.Since(began).Seconds()))
	return nil
}

func (s *Stack) command(name string, argv []string) Command {
	return Command{Name: name, Argv: argv, Detached: s.options.Detached}
}

// Stop ends every process in the stack's folder, Tidegate's own first. The files stay.
func (s *Stack) Stop() error {
	defer s.ports.release()
	return endAll(s.Dir)
}

// endAll ends every process that has a pid file in the folder: Tidegate's own are asked to end and get time to; the servers
// are killed, since what they hold goes with them.
func endAll(dir string) error {
	processes, err := running(dir)
	if err != nil {
		return fmt.Errorf("find the stack's processes: %w", err)
	}
	var own, servers errgroup.Group
	for _, p := range processes {
		if !isServer(p.Name) {
			own.Go(func() error { return p.Stop(stopGrace) })
		}
	}
	err = own.Wait()
	for _, p := range processes {
		if isServer(p.Name) {
			servers.Go(p.Kill)
		}
	}
	return errors.Join(err, servers.Wait())
}

func isServer(name string) bool {
	return name == etcdName || name == controllersName || name == temporalName || strings.HasPrefix(name, regionPrefix)
}
