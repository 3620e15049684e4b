package telemetry

import (
	"fmt"

	"go.temporal.io/sdk/log"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// temporalLogger is a zap logger in the shape that Temporal's SDK asks for.
type temporalLogger struct {
	zap *zap.Logger
}

var (
	_ log.WithLogger      = temporalLogger{}
	_ log.WithSkipCallers = temporalLogger{}
)

// TemporalLogger makes Temporal's SDK, and through it workflows and activities, log to z.
func TemporalLogger(z *zap.Logger) log.Logger {
	return temporalLogger{zap: z.WithOptions(zap.AddCallerSkip(2))} // the methods below, and write
}

func (l temporalLogger) Debug(msg string, keyvals ...any) { l.write(zapcore.DebugLevel, msg, keyvals) }

func (l temporalLogger) Info(msg string, keyvals ...any) { l.write(zapcore.InfoLevel, msg, keyvals) }

func (l temporalLogger) Warn(msg string, keyvals ...any) { l.write(zapcore.WarnLevel, msg, keyvals) }

func (l temporalLogger) Error(msg string, keyvals ...any) { l.write(zapcore.ErrorLevel, msg, keyvals) }

// With returns a logger that adds keyvals to every entry.
func (l temporalLogger) With(keyvals ...any) log.Logger {
	return temporalLogger{zap: l.zap.With(fields(keyvals)...)}
}

// WithCallerSkip returns a logger that names as caller the one that many frames further up.
func (l temporalLogger) WithCallerSkip(skip int) log.Logger {
	return temporalLogger{zap: l.zap.WithOptions(zap.AddCallerSkip(skip))}
}

func (l temporalLogger) write(level zapcore.Level, msg string, keyvals []any) {
	if entry := l.zap.Check(level, msg); entry != nil {
		entry.Write(fields(keyvals)...)
	}
}

// fields pairs keys and values up. Unlike zap's own sugar it keeps what is odd, as the entry matters more than its form.
func fields(keyvals []any) []zap.Field {
	out := make([]zap.Field, 0, (len(keyvals)+1)/2)
	for i := 0; i < len(keyvals); i += 2 {
		if i+1 == len(keyvals) {
			return append(out, zap.Any("unpaired", keyvals[i]))
		}
		key, ok := keyvals[i].(string)
		if !ok {
			key = fmt.Sprint(keyvals[i])
		}
		out = append(out, zap.Any(key, keyvals[i+1]))
	}
	return out
}
