// Package telemetry is how a process of Tidegate tells what it does: a logger, a metrics registry with everything in it
// (Go runtime, process, Temporal's SDK, Tidegate's own), and the adapters that Temporal's SDK needs to use both.
package telemetry

import (
	"fmt"
	"os"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/term"
)

// LogFormat says how log entries look.
type LogFormat string

const (
	// LogAuto is console on a terminal and JSON elsewhere; so is the empty format.
	LogAuto LogFormat = "auto"
	// LogJSON is one JSON object a line, for machines.
	LogJSON LogFormat = "json"
	// LogConsole is text for people, in colour on a terminal.
	LogConsole LogFormat = "console"
)

// LogOptions say what is logged and where.
type LogOptions struct {
	// Level is the least that is logged: debug, info, warn or error; info when empty.
	Level string
	// Format is how; LogAuto when empty.
	Format LogFormat
	// Output is where; standard error when nil.
	Output *os.File
}

// NewLogger makes the process's logger. It is passed to who logs; there is no global one.
func NewLogger(o LogOptions) (*zap.Logger, error) {
	level := zapcore.InfoLevel
	if o.Level != "" {
		var err error
		if level, err = zapcore.ParseLevel(o.Level); err != nil {
			return nil, fmt.Errorf("log level %q: use debug, info, warn or error", o.Level)
		}
	}
	output := o.Output
	if output == nil {
		output = os.Stderr
	}
	encoder, err := newEncoder(o.Format, term.IsTerminal(int(output.Fd())))
	if err != nil {
		return nil, err
	}
	core := zapcore.NewCore(encoder, zapcore.Lock(output), level)
	return zap.New(core, zap.AddCaller(), zap.AddStacktrace(zapcore.DPanicLevel), zap.ErrorOutput(zapcore.Lock(output))), nil
}

func newEncoder(format LogFormat, terminal bool) (zapcore.Encoder, error) {
	config := zap.NewProductionEncoderConfig()
	config.TimeKey = "time"
	config.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	config.EncodeDuration = zapcore.StringDurationEncoder
	if format == "" || format == LogAuto {
		format = LogJSON
		if terminal {
			format = LogConsole
		}
	}
	switch format {
	case LogJSON:
		return zapcore.NewJSONEncoder(config), nil
	case LogConsole:
		config.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05.000")
		config.EncodeLevel = zapcore.CapitalLevelEncoder
		config.CallerKey = zapcore.OmitKey
		if terminal {
			config.EncodeLevel = zapcore.CapitalColorLevelEncoder
		}
		return zapcore.NewConsoleEncoder(config), nil
	}
	return nil, fmt.Errorf("log format %q: use %s, %s or %s", format, LogAuto, LogJSON, LogConsole)
}
