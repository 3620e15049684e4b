package stack

import (
	"runtime"
	"sync"
)

// launcher is the one thread that starts processes. Linux kills an attached process when the thread that started it ends,
// not when the whole program does; so that thread has to last as long as the program.
var launcher = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for do := range work {
			do()
		}
	}()
	return work
})

// onLauncher calls start on the launcher's thread and returns its error.
func onLauncher(start func() error) error {
	result := make(chan error, 1)
	launcher() <- func() { result <- start() }
	return <-result
}
