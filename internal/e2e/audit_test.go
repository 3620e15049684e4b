package e2e_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/tidegate/tidegate/deploy/local/stack"
)

// moment is where each region's audit log ended.
type moment map[string]int64

// now returns the present moment.
func (w *world) now() moment {
	w.t.Helper()
	m := moment{}
	for _, name := range w.targets() {
		info, err := os.Stat(w.region(w.t, name).AuditLog)
		require.NoError(w.t, err)
		m[name] = info.Size()
	}
	return m
}

// auditEvent is the part of an audit event that tells what was written.
type auditEvent struct {
	Verb       string `json:"verb"`
	RequestURI string `json:"requestURI"`
	User       struct {
		Username string `json:"username"`
	} `json:"user"`
	UserAgent string `json:"userAgent"`
	ObjectRef struct {
		Resource    string `json:"resource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
		Subresource string `json:"subresource"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

// writes returns what Tidegate has written to a region since a moment, in order,
// as its API server's audit log has it: "patch deployments shop/web". Dry runs
// are no writes.
func (w *world) writes(region string, since moment) []string {
	w.t.Helper()
	var list []string
	for _, e := range w.written(region, since) {
		list = append(list, e.Verb+" "+e.ObjectRef.Resource+" "+e.ObjectRef.Namespace+"/"+e.ObjectRef.Name)
	}
	return list
}

// writers returns the numbers of the rollouts that have written to a region since
// a moment, one for each write, in order: every request says whose it is.
func (w *world) writers(region string, since moment) []int {
	w.t.Helper()
	var numbers []int
	for _, e := range w.written(region, since) {
		_, caller, found := strings.Cut(e.UserAgent, "rollout="+w.delivery()+"/")
		_, number, _ := strings.Cut(caller, "#")
		number, _, _ = strings.Cut(number, " ")
		n, err := strconv.Atoi(number)
		require.True(w.t, found && err == nil, "who has written? %q", e.UserAgent)
		numbers = append(numbers, n)
	}
	return numbers
}

// written returns the audit events of Tidegate's writes to a region.
func (w *world) written(region string, since moment) []auditEvent {
	w.t.Helper()
	file, err := os.Open(w.region(w.t, region).AuditLog)
	require.NoError(w.t, err)
	defer file.Close()
	_, err = file.Seek(since[region], io.SeekStart)
	require.NoError(w.t, err)
	var list []auditEvent
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return list
		}
		var e auditEvent
		require.NoError(w.t, json.Unmarshal(line, &e))
		if e.User.Username != stack.UserTidegate || !slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, e.Verb) ||
			strings.Contains(e.RequestURI, "dryRun=All") {
			continue
		}
		list = append(list, e)
	}
}

// requireNoWrites fails when Tidegate has written anything to any region.
func (w *world) requireNoWrites(since moment) {
	w.t.Helper()
	for _, region := range w.targets() {
		require.Empty(w.t, w.writes(region, since), "region %s", region)
	}
}

// isInventory says whether a write is to Tidegate's own namespace.
func isInventory(write string) bool { return strings.Contains(write, " tidegate-system/") }
