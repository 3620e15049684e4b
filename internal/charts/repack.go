package charts

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/loader/archive"
)

// repack turns a chart's archive into a tar of its files. Helm's own reader
// refuses absolute names, names that lead out, and bombs.
func repack(tgz []byte) ([]byte, error) {
	files, err := archive.LoadArchiveFiles(bytes.NewReader(tgz))
	if err != nil {
		if name := culprit(tgz); name != "" {
			err = fmt.Errorf("%s: %w", name, err)
		}
		return nil, err
	}
	slices.SortFunc(files, func(a, b *archive.BufferedFile) int { return strings.Compare(a.Name, b.Name) })
	if !slices.ContainsFunc(files, func(f *archive.BufferedFile) bool { return f.Name == "Chart.yaml" }) {
		return nil, errors.New("it has no Chart.yaml")
	}
	var tree bytes.Buffer
	w := tar.NewWriter(&tree)
	for i, f := range files {
		if i > 0 && files[i-1].Name == f.Name {
			return nil, errors.New("it has two files called " + f.Name)
		}
		header := tar.Header{Name: f.Name, Mode: 0o644, Size: int64(len(f.Data)), Format: tar.FormatPAX}
		if err := w.WriteHeader(&header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.Data); err != nil {
			return nil, err
		}
	}
	return tree.Bytes(), w.Close()
}

// culprit is the name in an archive that it is refused for: one that leads out of
// it, or at which it is too large.
func culprit(tgz []byte) string {
	unzipped, err := gzip.NewReader(bytes.NewReader(tgz))
	if err != nil {
		return ""
	}
	left := archive.MaxDecompressedChartSize
	for files := tar.NewReader(io.LimitReader(unzipped, left+1<<20)); ; {
		header, err := files.Next()
		if err != nil {
			return ""
		}
		name := strings.ReplaceAll(header.Name, "\\", "/")
		_, inside, _ := strings.Cut(name, "/")
		inside = path.Clean("./" + inside)
		if left -= header.Size; left <= 0 || path.IsAbs(name) || inside == "." || strings.HasPrefix(inside, "../") || inside == ".." {
			return header.Name
		}
	}
}
