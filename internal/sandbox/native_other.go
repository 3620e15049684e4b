//go:build !linux

package sandbox

import (
	"context"
	"errors"
)

// Native needs the namespaces of Linux; here it cannot be made.
type Native struct{}

var errNotLinux = errors.New("the native sandbox needs Linux: run the worker on Linux, or choose the backend without a sandbox by setting")

// NewNative always returns an error here.
func NewNative(Options) (*Native, error) { return nil, errNotLinux }

// Run always returns an error here.
func (*Native) Run(context.Context, Job) (Result, error) { return Result{}, errNotLinux }

// Stats returns nothing here.
func (*Native) Stats() Stats { return Stats{} }

// Close does nothing here.
func (*Native) Close() error { return nil }

// ServeSlot returns at once: there are no slots here.
func ServeSlot(Handler, func()) {}
