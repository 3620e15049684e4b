package activities

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// keptTrees is how many unpacked checkouts a worker keeps on its disk.
const keptTrees = 16

// tree returns the folder that holds an unpacked checkout. The folder is named
// by the checkout's digest and never changes once it is there.
func (r *Renderer) tree(ctx context.Context, digest string) (string, error) {
	dir := filepath.Join(r.Dir, strings.ReplaceAll(digest, ":", "-"))
	if _, err := os.Stat(dir); err == nil {
		now := time.Now()
		_ = os.Chtimes(dir, now, now) // what is used last is removed last
		return dir, nil
	}
	archive, err := r.Blobs.Get(ctx, digest)
	if err != nil {
		return "", fmt.Errorf("read checkout %s: %w", digest, err)
	}
	if err := os.MkdirAll(r.Dir, 0o750); err != nil {
		return "", err
	}
	half, err := os.MkdirTemp(r.Dir, "half-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(half) //nolint:errcheck // swept at the next start
	if err := unpack(archive, half); err != nil {
		return "", fmt.Errorf("unpack checkout %s: %w", digest, err)
	}
	if err := os.Rename(half, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		if _, there := os.Stat(dir); there != nil {
			return "", err
		}
	}
	return dir, r.sweepTrees()
}

// unpack writes an archive into a folder and nowhere else: a name or a link that
// leads out of it is an error.
func unpack(archive []byte, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // everything in it is closed
	reader := tar.NewReader(bytes.NewReader(archive))
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := unpackOne(root, header, reader); err != nil {
			return fmt.Errorf("%s: %w", header.Name, err)
		}
	}
}

func unpackOne(root *os.Root, header *tar.Header, content io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(header.Name), 0o750); err != nil {
		return err
	}
	switch header.Typeflag {
	case tar.TypeSymlink:
		if target := filepath.Join(filepath.Dir(header.Name), header.Linkname); filepath.IsAbs(header.Linkname) || !filepath.IsLocal(target) {
			return fmt.Errorf("the link leads out of the repository, to %s", header.Linkname)
		}
		return root.Symlink(header.Linkname, header.Name)
	case tar.TypeReg:
		file, err := root.OpenFile(header.Name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, fs.FileMode(header.Mode&0o755)) //nolint:gosec // masked
		if err != nil {
			return err
		}
		_, err = io.Copy(file, content) //nolint:gosec // the archive was bounded when it was made
		return errors.Join(err, file.Close())
	default:
		return fmt.Errorf("neither a file nor a link (type %q)", header.Typeflag)
	}
}

// sweepTrees removes the checkouts that have not been used for longest.
func (r *Renderer) sweepTrees() error {
	entries, err := os.ReadDir(r.Dir)
	if err != nil || len(entries) <= keptTrees {
		return err
	}
	used := map[string]time.Time{}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			used[e.Name()] = info.ModTime()
		}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return used[a.Name()].Compare(used[b.Name()]) })
	for _, e := range entries[:len(entries)-keptTrees] {
		if time.Since(used[e.Name()]) > time.Hour { // longer than any render that may still read it
			_ = os.RemoveAll(filepath.Join(r.Dir, e.Name()))
		}
	}
	return nil
}
