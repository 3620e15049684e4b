package render_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/internal/gitops"
	"github.com/tidegate/tidegate/internal/render"
	"github.com/tidegate/tidegate/internal/sandbox"
)

// binary is the real renderer program.
var binary string

func TestMain(m *testing.M) { os.Exit(build(m)) }

func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "renderer")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "tidegate-render")
	cmd := exec.Command("go", "build", "-o", binary, "./renderer/tidegate-render")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	// Those whom a sandbox runs as must be able to execute it.
	out, err := cmd.CombinedOutput()
	if err = errors.Join(err, os.Chmod(dir, 0o755)); err != nil {
		fmt.Fprintf(os.Stderr, "build the renderer: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

func engine() *render.Engine {
	return &render.Engine{Sandbox: sandbox.Process{}, Binary: binary, Timeout: time.Minute}
}

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"

func TestTheRendererProgramRendersACheckout(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "app/kustomization.yaml", "resources: [a.yaml]\n")
	write(t, dir, "app/a.yaml", configMap)
	result, err := engine().Render(t.Context(), render.Request{Tree: dir, Path: "app", Kustomize: &gitops.Kustomize{NamePrefix: "p-"}})
	require.NoError(t, err)
	require.JSONEq(t, `[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"p-a"}}]`, string(result.Objects))
	require.Equal(t, render.RendererKustomize, result.Renderer)
	require.Equal(t, []string{"app/Kustomization", "app/a.yaml", "app/kustomization.yaml", "app/kustomization.yml"}, result.Reads)
}

func TestASourceAtFaultIsAnErrorWithWhatWasRead(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "app/a.yaml", "a: [")
	result, err := engine().Render(t.Context(), render.Request{Tree: dir, Path: "app"})
	var fault *render.Error
	require.ErrorAs(t, err, &fault)
	require.Equal(t, render.KindParse, fault.Kind)
	require.Equal(t, "app/a.yaml", fault.File)
	require.Contains(t, result.Reads, "app", "a change there may mend it")
	require.True(t, fault.Final())
}

// fake ends a job in one way.
type fake struct {
	output string
	err    error
}

func (f fake) Run(context.Context, sandbox.Job) (sandbox.Result, error) {
	return sandbox.Result{Output: []byte(f.output)}, f.err
}

func TestABadEndIsBlamedOnWhomeverItIsDueTo(t *testing.T) {
	for name, c := range map[string]struct {
		err   error
		kind  render.ErrorKind
		final bool
	}{
		"too slow":           {&sandbox.Error{Kind: sandbox.ErrTimeout}, render.KindTimeout, false},
		"too much output":    {&sandbox.Error{Kind: sandbox.ErrOutputLimit}, render.KindOutput, true},
		"too much memory":    {&sandbox.Error{Kind: sandbox.ErrMemoryLimit}, render.KindMemory, true},
		"too many processes": {&sandbox.Error{Kind: sandbox.ErrProcessLimit}, render.KindProcesses, true},
		"a full /tmp":        {&sandbox.Error{Kind: sandbox.ErrTmpLimit}, render.KindTmp, true},
		"a crash":            {&sandbox.Error{Kind: sandbox.ErrCrashed, Detail: "exit status 2", Stderr: "hunter2"}, render.KindCrash, false},
		"no such program":    {&sandbox.Error{Kind: sandbox.ErrStart}, "", false},
		"the worker stops":   {context.Canceled, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			e := render.Engine{Sandbox: fake{err: c.err}, Binary: "tidegate-render"}
			_, err := e.Render(t.Context(), render.Request{Path: "app"})
			require.NotContains(t, err.Error(), "hunter2")
			var fault *render.Error
			if c.kind == "" {
				require.ErrorIs(t, err, c.err)
				require.NotErrorAs(t, err, &fault)
				return
			}
			require.ErrorAs(t, err, &fault)
			require.Equal(t, c.kind, fault.Kind)
			require.Equal(t, c.final, fault.Final())
		})
	}
}

func TestAnAnswerThatIsNotWholeIsRefused(t *testing.T) {
	var whole bytes.Buffer
	require.NoError(t, render.WriteResult(&whole, render.Result{Renderer: render.RendererDirectory, Count: 1}))
	got, err := render.ReadResult(whole.Bytes())
	require.NoError(t, err)
	require.Equal(t, 1, got.Count)
	for name, answer := range map[string]string{
		"nothing": "", "cut short": whole.String()[:whole.Len()-1], "something before it": "warning!\n" + whole.String(), "something after it": whole.String() + "\n", "another program": "{}\n",
	} {
		e := render.Engine{Sandbox: fake{output: answer}, Binary: "tidegate-render"}
		_, err := e.Render(t.Context(), render.Request{Path: "app"})
		require.ErrorContains(t, err, "of the same release", name)
	}
}

func TestAnEngineSaysWhichRendererItRuns(t *testing.T) {
	first, err := engine().Version()
	require.NoError(t, err)
	require.Len(t, first, 64)
	other := filepath.Join(t.TempDir(), "tidegate-render")
	require.NoError(t, os.WriteFile(other, []byte("#!/bin/sh\n"), 0o700))
	e := render.Engine{Binary: other}
	second, err := e.Version()
	require.NoError(t, err)
	require.NotEqual(t, first, second)
	require.NoError(t, os.WriteFile(other, []byte("#!/bin/sh\n# changed\n"), 0o700))
	third, err := e.Version()
	require.NoError(t, err)
	require.NotEqual(t, second, third, "a program that was replaced is another one")
	e.Binary = "no-such-renderer"
	_, err = e.Version()
	require.ErrorContains(t, err, "no-such-renderer")
}
