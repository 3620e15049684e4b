package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// tool is a place in the root of a slot that runs commands: something of the
// folder with their tools, read-only, or a link.
type tool struct {
	Name string // relative to the root
	Link string `json:",omitempty"` // what the link says; nothing is mounted for it
	File bool   `json:",omitempty"`

	path string // on the host
}

// hostTools are what commands find of the host when they have no root of their
// own: programs and what programs need, nothing that is the host's own.
var hostTools = []string{
	"bin", "lib", "lib32", "lib64", "libx32", "sbin", "usr", "etc/alternatives", "etc/ca-certificates", "etc/group", "etc/ld.so.cache",
	"etc/localtime", "etc/nsswitch.conf", "etc/passwd", "etc/ssl/certs",
}

// ownPlaces are made for each slot; what a root has there is not seen.
var ownPlaces = []string{"dev", "proc", "sys", "tmp", "work", "mounts", "checkout", "scratch"}

// maxTools bounds the entries of a root.
const maxTools = 64

// toolsOf lists what commands find of a root.
func toolsOf(root string) ([]tool, error) {
	names := hostTools
	if root != "" {
		entries, err := os.ReadDir(root)
		if err != nil {
			return nil, fmt.Errorf("list the root of a plugin's tools: %w", err)
		}
		names = nil
		for _, entry := range entries {
			if !slices.Contains(ownPlaces, entry.Name()) {
				names = append(names, entry.Name())
			}
		}
	}
	if len(names) > maxTools {
		return nil, fmt.Errorf("the root of a plugin's tools, %s, has %d entries; %d are possible", root, len(names), maxTools)
	}
	var tools []tool
	for _, name := range names {
		at := filepath.Join("/", root, name)
		info, err := os.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, fmt.Errorf("look at a plugin's tools: %w", err)
		}
		t := tool{Name: name, File: info.Mode().IsRegular(), path: at}
		if info.Mode().Type() == fs.ModeSymlink {
			if t.Link, err = os.Readlink(at); err != nil {
				return nil, fmt.Errorf("look at a plugin's tools: %w", err)
			}
		} else if !t.File && !info.IsDir() {
			continue
		}
		tools = append(tools, t)
	}
	return tools, nil
}

// make makes the place of a tool below a root, and says whether something is to be
// mounted there.
func (t tool) make(root string) (mounted bool, err error) {
	at := path.Join(root, t.Name)
	if dir := path.Dir(at); strings.Contains(t.Name, "/") {
		if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // commands must find it
			return false, err
		}
	}
	switch {
	case t.Link != "":
		return false, os.Symlink(t.Link, at)
	case t.File:
		return true, os.WriteFile(at, nil, 0o644) //nolint:gosec // likewise
	default:
		return true, os.Mkdir(at, 0o755) //nolint:gosec // likewise
	}
}
