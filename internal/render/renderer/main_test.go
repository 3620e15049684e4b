package renderer

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	cutNetwork() // as main does
	os.Exit(m.Run())
}
