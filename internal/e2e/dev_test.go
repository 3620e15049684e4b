//go:build e2edev

package e2e_test

import (
	"testing"

	"github.com/tidegate/tidegate/deploy/local/stack"
	"github.com/tidegate/tidegate/internal/config"
)

const devDir = "/tmp/e2e-stack"

func init() { devFleet = startDevFleet }

func startDevFleet(t *testing.T, bin string) error {
	s, _, err := stack.Up(t.Context(), stack.Options{Dir: devDir, Regions: stack.Demo(4), AuditLog: true, Temporal: true, Detached: true})
	if err != nil {
		return err
	}
	settings, err := config.Load(s.Settings)
	shared.fleet = fleet{Stack: s, settings: settings, bin: bin}
	return err
}
