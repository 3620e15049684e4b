//go:build linux

// Probe tries what a job in a sandbox must not be able to do. As a slot it does so
// inside; started plainly it does the same outside, as the control. It reads one
// attempt and its argument from standard input or its arguments, separated by a space, and writes
// "done" with what it got, or "refused" with why.
package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/tidegate/tidegate/internal/sandbox"
)

func main() {
	sandbox.ServeSlot(handle, func() { warmed = true })
	if len(os.Args) > 1 { // it is a command
		_ = os.Stdin.Close()
		if err := try(strings.Join(os.Args[1:], " "), os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if err := handle(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var warmed bool

func handle(stdin io.Reader, stdout io.Writer) error {
	input, err := io.ReadAll(stdin)
	if err != nil {
		return err
	}
	return try(string(input), stdout)
}

func try(input string, stdout io.Writer) error {
	name, argument, _ := strings.Cut(input, " ")
	if name == "echo" {
		_, err := io.Copy(stdout, strings.NewReader(argument))
		return err
	}
	if bomb, ok := bombs[name]; ok {
		return bomb(stdout)
	}
	attempt, ok := attempts[name]
	if !ok {
		return fmt.Errorf("there is no attempt %q", name)
	}
	got, err := attempt(argument)
	if err != nil {
		_, err = fmt.Fprintf(stdout, "refused: %v", err)
		return err
	}
	_, err = fmt.Fprintf(stdout, "done: %s", got)
	return err
}
