package main

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"

	"github.com/tidegate/tidegate/deploy/local/stack"
)

// mark is where each region's audit log ended.
type mark []int64

func (b *bench) mark() (mark, error) {
	var m mark
	for _, r := range b.stack.Regions {
		info, err := os.Stat(r.AuditLog)
		if err != nil {
			return nil, err
		}
		m = append(m, info.Size())
	}
	return m, nil
}

// requests counts Tidegate's requests since a mark in all regions: those that
// write, and those that began at all, standing watches aside.
func (b *bench) requests(since mark) (writes, all int, err error) {
	for i, r := range b.stack.Regions {
		w, a, err := countRequests(r.AuditLog, since[i])
		if err != nil {
			return 0, 0, err
		}
		writes, all = writes+w, all+a
	}
	return writes, all, nil
}

func countRequests(file string, from int64) (writes, all int, err error) {
	log, err := os.Open(file)
	if err != nil {
		return 0, 0, err
	}
	defer log.Close() //nolint:errcheck // only read
	if _, err := log.Seek(from, 0); err != nil {
		return 0, 0, err
	}
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct {
			Verb string
			User struct{ Username string }
		}
		if json.Unmarshal(lines.Bytes(), &event) != nil || event.User.Username != stack.UserTidegate || event.Verb == "watch" {
			continue
		}
		all++
		if strings.Contains("create update patch delete deletecollection", event.Verb) {
			writes++
		}
	}
	return writes, all, lines.Err()
}
