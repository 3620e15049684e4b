package stack

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// portHolder tells which process listens on the TCP port: "name (pid 123)". It is empty when that is another user's.
func portHolder(port int) string {
	inode := listeningInode(port)
	if inode == "" {
		return ""
	}
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, link := range links {
		if target, err := os.Readlink(link); err != nil || target != "socket:["+inode+"]" {
			continue
		}
		pid := strings.Split(link, "/")[2]
		name, err := os.ReadFile(filepath.Join("/proc", pid, "comm"))
		if err != nil {
			return ""
		}
		return fmt.Sprintf("%s (pid %s)", strings.TrimSpace(string(name)), pid)
	}
	return ""
}

// listeningInode finds the socket in the kernel's tables, whose lines are "n: local remote state … inode …", the state 0A
// being LISTEN, addresses in hexadecimal.
func listeningInode(port int) string {
	suffix := fmt.Sprintf(":%04X", port)
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) > 9 && strings.HasSuffix(fields[1], suffix) && fields[3] == "0A" {
				return fields[9]
			}
		}
	}
	return ""
}
