package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
)

var imageVersion = regexp.MustCompile(`(image: \S+/frontend:\d+\.\d+\.)(\d+)`)

// raiseVersion raises the last number of the frontend's image and returns the
// new version: a change as small as most are.
func (d *demo) raiseVersion() (string, error) {
	file := filepath.Join(d.work, "app", "frontend.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	match := imageVersion.FindSubmatch(text)
	if match == nil {
		return "", fmt.Errorf("raise the image's version: %s has no image frontend:x.y.z", file)
	}
	number, err := strconv.Atoi(string(match[2]))
	if err != nil {
		return "", err
	}
	raised := imageVersion.ReplaceAll(text, fmt.Appendf(nil, "${1}%d", number+1))
	return fmt.Sprintf("1.0.%d", number+1), os.WriteFile(file, raised, 0o600)
}
