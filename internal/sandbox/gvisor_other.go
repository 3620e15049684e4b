//go:build !linux

package sandbox

import "context"

// GVisor needs Linux; here it cannot be made.
type GVisor struct{}

// GVisorOptions mean nothing here.
type GVisorOptions struct {
	Runsc, Program string
	Max            int
}

// NewGVisor always returns an error here.
func NewGVisor(GVisorOptions) (*GVisor, error) { return nil, errNotLinux }

// Try always returns an error here.
func (*GVisor) Try(context.Context) error { return errNotLinux }

// Run always returns an error here.
func (*GVisor) Run(context.Context, Job) (Result, error) { return Result{}, errNotLinux }

// Stats returns nothing here.
func (*GVisor) Stats() Stats { return Stats{} }

// Close does nothing here.
func (*GVisor) Close() error { return nil }
