package stack

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
)

// searchAttributes are the columns by which Tidegate's workflows are found in Temporal.
var searchAttributes = []string{
	"TidegateProject=Keyword",
	"TidegateDelivery=Keyword",
	"TidegateStage=Keyword",
	"TidegatePhase=Keyword",
	"TidegateRelease=Int",
	"TidegateRevision=Keyword",
	"TidegateRepository=Keyword",
	"TidegateTargets=KeywordList",
}

// dynamicConfig makes one machine's Temporal fast: by default a shard reads its queue of new tasks, and that of timers, 20
// times a second, so that each step of a workflow waits for the next 50 ms tick. The values are JSON.
var dynamicConfig = []string{
	"history.transferProcessorMaxPollRPS=1000",
	"history.transferProcessorMaxPollHostRPS=5000",
	"history.timerProcessorMaxPollRPS=1000",
	"history.timerProcessorMaxPollHostRPS=5000",
	"matching.numTaskqueueReadPartitions=1",
	"matching.numTaskqueueWritePartitions=1",
	`history.workflowIdReuseMinimalInterval="0s"`,
}

// Temporal is a Temporal server with the namespace default.
type Temporal struct {
	Address string // host:port
	UI      string // URL of the Web UI; empty unless Options.UI

	stack   *Stack
	process *Process
}

// PID is the number of the server's process.
func (t *Temporal) PID() int { return t.process.PID() }

// Alive reports whether the server's process runs; a frozen one does.
func (t *Temporal) Alive() bool { return t.process.Alive() }

// Kill ends the server as a crash would. Its database stays.
func (t *Temporal) Kill() error { return t.process.Kill() }

// Freeze makes the server hang: connections stay open and nothing answers.
func (t *Temporal) Freeze() error { return t.process.Freeze() }

// Thaw lets a frozen server go on.
func (t *Temporal) Thaw() error { return t.process.Thaw() }

// Restart starts the server again on its database, and waits until it is ready. One that runs is killed first.
func (t *Temporal) Restart(ctx context.Context) error {
	if t.Alive() {
		if err := t.Kill(); err != nil {
			return err
		}
	}
	return t.start(ctx)
}

// Ready returns an error unless the namespace can be used.
func (t *Temporal) Ready(ctx context.Context) error {
	return get(ctx, http.DefaultClient, httpURL(t.stack.options.Ports.TemporalHTTP)+"/api/v1/namespaces/default")
}

// start starts the server unless it runs, and waits until it is ready.
func (t *Temporal) start(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Join(t.stack.options.Dir, "temporal"), 0o750); err != nil {
		return fmt.Errorf("start temporal: %w", err)
	}
	return t.stack.ensure(ctx, t.process, t.command(), t.Ready)
}

func (t *Temporal) command() Command {
	ports := t.stack.options.Ports
	argv := append(t.stack.tools.temporal, "server", "start-dev",
		"--db-filename="+filepath.Join(t.stack.options.Dir, "temporal", "temporal.db"),
		"--ip="+loopback,
		"--port="+strconv.Itoa(ports.Temporal),
		"--http-port="+strconv.Itoa(ports.TemporalHTTP),
		"--sqlite-pragma=journal_mode=wal",
		"--sqlite-pragma=synchronous=normal",
		"--log-level=warn",
	)
	if t.UI == "" {
		argv = append(argv, "--headless")
	} else {
		argv = append(argv, "--ui-port="+strconv.Itoa(ports.TemporalUI))
	}
	for _, value := range dynamicConfig {
		argv = append(argv, "--dynamic-config-value="+value)
	}
	for _, attribute := range searchAttributes {
		argv = append(argv, "--search-attribute="+attribute)
	}
	return t.stack.command(temporalName, argv)
}
