package sandbox_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidegate/tidegate/internal/sandbox"
)

// The test binary is also the program that is run: its first argument says what
// it does.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if play, ok := programs[os.Args[1]]; ok {
			play()
			os.Exit(0)
		}
	}
	code := m.Run()
	if probeDir != "" {
		_ = os.RemoveAll(probeDir)
	}
	os.Exit(code)
}

// probeDir is where the probe was built, if it was.
var probeDir string

var programs = map[string]func(){
	"read-mount": func() {
		data, err := os.ReadFile(filepath.Join(os.Getenv(sandbox.MountsVariable), "values", "a"))
		if err != nil {
			panic(err)
		}
		_, _ = os.Stdout.Write(data)
	},
	"echo": func() { _, _ = io.Copy(os.Stdout, os.Stdin) },
	"environment": func() {
		dir, _ := os.Getwd()
		fmt.Println("dir=" + dir)
		fmt.Println(strings.Join(os.Environ(), "\n"))
		_ = os.WriteFile(os.Getenv("TMPDIR")+"/left", []byte("behind"), 0o600)
	},
	"flood": func() {
		for {
			_, _ = os.Stdout.Write(make([]byte, 1<<16))
		}
	},
	"spin": func() {
		for { //nolint:staticcheck // it burns time on purpose
		}
	},
	"grow": func() {
		var all [][]byte
		for {
			all = append(all, make([]byte, 1<<20))
			for i := range all[len(all)-1] {
				all[len(all)-1][i] = 1
			}
		}
	},
	"panic": func() { panic("this is the end") },
	// parent starts a child that would live on, says its id and waits for ever.
	"parent": func() {
		child := exec.Command(os.Args[0], "wait")
		if err := child.Start(); err != nil {
			panic(err)
		}
		_ = os.WriteFile(os.Args[2], fmt.Appendf(nil, "%d", child.Process.Pid), 0o600)
		select {}
	},
	"wait": func() { select {} },
	"read-nothing": func() {
		_, _ = bufio.NewReader(os.Stdin).ReadByte()
		fmt.Print("done")
	},
}
