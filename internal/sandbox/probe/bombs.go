//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"
)

// bombs each try to pass one limit. All but spin, wait and flood end by
// themselves where nothing stops them.
var bombs = map[string]func(io.Writer) error{
	"spin": func(io.Writer) error {
		for { //nolint:staticcheck // it burns time on purpose
		}
	},
	"wait": func(io.Writer) error {
		<-time.After(time.Hour)
		return nil
	},
	"flood": func(w io.Writer) error {
		for {
			if _, err := w.Write(make([]byte, 1<<16)); err != nil {
				return err
			}
		}
	},
	"grow": func(w io.Writer) error {
		var all [][]byte
		for range 512 {
			block := make([]byte, 1<<20)
			for i := range block {
				block[i] = 1
			}
			all = append(all, block)
		}
		_, err := fmt.Fprintf(w, "done: %d MiB", len(all))
		return err
	},
	"threads": func(w io.Writer) error {
		started, end := make(chan struct{}), make(chan struct{})
		for range 200 {
			go func() {
				runtime.LockOSThread()
				started <- struct{}{}
				<-end
			}()
		}
		for range 200 {
			<-started
		}
		close(end)
		_, err := io.WriteString(w, "done: 200 threads")
		return err
	},
	"fill": func(w io.Writer) error {
		f, err := os.CreateTemp("", "fill")
		if err != nil {
			return err
		}
		for range 64 {
			if _, err = f.Write(make([]byte, 1<<20)); err != nil {
				break
			}
		}
		if err != nil {
			return err
		}
		_, err = io.WriteString(w, "done: 64 MiB")
		return errors.Join(err, f.Close(), os.Remove(f.Name()))
	},
	"panic": func(io.Writer) error { panic("this is the end") },
	"fail":  func(io.Writer) error { return errors.New("hunter2") },
}
