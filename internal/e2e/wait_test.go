package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tidegate/tidegate/deploy/local/stack"
)

const (
	lookEvery = 50 * time.Millisecond
	patience  = 4 * time.Minute // what never takes that long is broken, on the slowest machine too
)

// until waits for something. Look says whether it is there, and what it sees
// instead; the latter is shown when the wait is in vain. A process that has died
// by itself ends the wait at once.
func (w *world) until(what string, look func(ctx context.Context) (done bool, seen any)) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	var last any
	for {
		done, seen := look(ctx)
		if done {
			return
		}
		if ctx.Err() == nil {
			last = seen
		}
		for _, p := range []*stack.Process{w.worker, w.serve} {
			if p != nil && !p.Alive() {
				w.t.Fatalf("wait until %s: %s has died:\n%s", what, p.Name, tail(p.Log, 20))
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			w.t.Fatalf("wait until %s: not after %s; last seen:\n%s", what, patience, describe(last))
		}
	}
}

// describe prints what was seen for a person.
func describe(seen any) string {
	switch seen := seen.(type) {
	case error:
		return seen.Error()
	case string:
		return seen
	}
	text, err := json.MarshalIndent(seen, "", "  ")
	if err != nil {
		return fmt.Sprintf("%+v", seen)
	}
	return string(text)
}

// answers returns a check whether a URL says 200.
func answers(url string) func(context.Context) error {
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answers %s", url, response.Status)
		}
		return nil
	}
}

// showLogs shows the ends of the programs' logs when the test has failed.
func (w *world) showLogs(t *testing.T) {
	if !t.Failed() {
		return
	}
	for _, name := range []string{"tidegate-worker", "tidegate"} {
		t.Logf("the end of the log of %s:\n%s", name, tail(w.dir+"/logs/"+name+".log", 30))
	}
}

func tail(file string, lines int) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
