package render

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/tidegate/tidegate/internal/sandbox"
)

// version is the digest of a renderer program, and what tells that the file is
// still the same.
type version struct {
	digest string
	path   string
	size   int64
	time   time.Time
}

// Version identifies the renderer program and the plugins by their content: whatever may render
// differently is another version.
func (e *Engine) Version() (string, error) {
	path, err := sandbox.Find(e.Binary)
	if err != nil {
		return "", fmt.Errorf("find the renderer %s: %w; set render.binary in the settings", e.Binary, err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("find the renderer: %w", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	found := version{digest: e.version.digest, path: path, size: info.Size(), time: info.ModTime()}
	if found != e.version {
		if found.digest, err = digestFile(path); err != nil {
			return "", fmt.Errorf("read the renderer: %w", err)
		}
		e.version = found
	}
	digest := found.digest
	for _, p := range e.Plugins {
		digest += " " + p.Name + "=" + p.Digest
	}
	return digest, nil
}

func digestFile(path string) (digest string, err error) {
	file, err := os.Open(path) //nolint:gosec // the operator's setting
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
