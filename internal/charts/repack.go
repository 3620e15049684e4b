package charts

import (
	"archive/tar"
	"bytes"
	"errors"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/loader/archive"
)

// repack turns a chart's archive into a tar of its files. Helm's own reader
// refuses absolute names, names that lead out, and bombs.
func repack(tgz []byte) ([]byte, error) {
	files, err := archive.LoadArchiveFiles(bytes.NewReader(tgz))
	if err != nil {
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
