package telemetry_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/log"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tidegate/tidegate/internal/telemetry"
)

// logged is what a logger with these options writes into a file.
func logged(t *testing.T, o telemetry.LogOptions, write func(*zap.Logger)) string {
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	o.Output = file
	logger, err := telemetry.NewLogger(o)
	require.NoError(t, err)
	write(logger)
	text, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	require.NoError(t, file.Close())
	return string(text)
}

func TestAFileGetsJSON(t *testing.T) {
	text := logged(t, telemetry.LogOptions{}, func(z *zap.Logger) {
		z.Debug("hidden")
		z.Info("shown", zap.String("region", "eu-1"), zap.Error(errors.New("cause")))
	})
	var entry map[string]string
	require.NoError(t, json.Unmarshal([]byte(text), &entry))
	require.Equal(t, "shown", entry["msg"])
	require.Equal(t, "info", entry["level"])
	require.Equal(t, "eu-1", entry["region"])
	require.Equal(t, "cause", entry["error"])
	require.Contains(t, entry["caller"], "log_test.go")
	require.Regexp(t, `^\d{4}-\d\d-\d\dT`, entry["time"])
}

func TestConsoleInAFileHasNoColour(t *testing.T) {
	text := logged(t, telemetry.LogOptions{Format: telemetry.LogConsole, Level: "debug"}, func(z *zap.Logger) {
		z.Debug("shown", zap.Int("wave", 3))
	})
	require.Contains(t, text, "DEBUG\tshown\t{\"wave\": 3}")
	require.NotContains(t, text, "\x1b")
}

func TestUnknownLogSettingsAreExplained(t *testing.T) {
	_, err := telemetry.NewLogger(telemetry.LogOptions{Level: "loud"})
	require.ErrorContains(t, err, "debug, info, warn or error")
	_, err = telemetry.NewLogger(telemetry.LogOptions{Format: "xml"})
	require.ErrorContains(t, err, "json")
}

func TestTemporalLogsThroughZap(t *testing.T) {
	core, entries := observer.New(zapcore.InfoLevel)
	logger := telemetry.TemporalLogger(zap.New(core, zap.AddCaller()))
	log.With(logger, "WorkflowID", "push/a").Warn("late", "Attempt", 2, "Error", errors.New("cause"))
	logger.Debug("hidden")
	logger.Info("odd", 7, "seven", "alone")
	logger.Error("plain")
	skipping := log.Skip(logger, 1)
	func() { skipping.Info("caller's caller") }()

	got := entries.All()
	require.Len(t, got, 4)
	require.Equal(t, map[string]any{"WorkflowID": "push/a", "Attempt": int64(2), "Error": "cause"}, got[0].ContextMap())
	require.Equal(t, zapcore.WarnLevel, got[0].Level)
	require.Equal(t, map[string]any{"7": "seven", "unpaired": "alone"}, got[1].ContextMap())
	require.Equal(t, zapcore.ErrorLevel, got[2].Level)
	for _, e := range got {
		require.True(t, strings.HasSuffix(e.Caller.File, "log_test.go"), "caller of %q is %s", e.Message, e.Caller)
	}
	require.NotEqual(t, got[2].Caller.Function, "", "functions are known")
	require.NotContains(t, got[3].Caller.Function, "func", "the skipped frame is the function literal")
}
