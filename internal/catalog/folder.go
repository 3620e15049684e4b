package catalog

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/tidegate/tidegate/internal/gitops"
)

const maxFileSize = 5 << 20 // bytes

var extensions = []string{".yaml", ".yml", ".json"}

// refusedFile is the end of every message about a file that was not read.
const refusedFile = "; Applications outside of Pipelines wait, since it may hold a Pipeline"

type file struct {
	name string
	data []byte
}

// readFolder reads all YAML files below a folder, in the order of their names.
// Names that begin with a dot are left out. A file that is too large, is no
// file, or lies outside is a problem; a folder without any file is one too, so
// that a lost mount retires nothing.
func readFolder(fsys fs.FS) (files []file, problems []gitops.Problem, err error) {
	err = fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != "." && strings.HasPrefix(path.Base(name), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			return nil
		}
		data, refusal, err := readEntry(fsys, name, entry)
		if refusal != "" {
			problems = append(problems, gitops.Problem{File: name, Message: refusal + refusedFile})
		} else if data != nil {
			files = append(files, file{name: name, data: data})
		}
		return err
	})
	if err == nil && len(files)+len(problems) == 0 {
		problems = append(problems, gitops.Problem{File: ".", Message: "the folder has no .yaml, .yml or .json file; if nothing shall be delivered, keep one that is empty"})
	}
	return files, problems, err
}

// readEntry reads one file. No data and no refusal mean that it is none of ours.
func readEntry(fsys fs.FS, name string, entry fs.DirEntry) (data []byte, refusal string, err error) {
	linked := entry.Type()&fs.ModeSymlink != 0
	ours := slices.Contains(extensions, path.Ext(name))
	if !ours && !linked {
		return nil, "", nil
	}
	info, err := fs.Stat(fsys, name)
	switch {
	case err != nil && linked:
		return nil, "the link is broken or leads out of the folder; put the file here", nil
	case err != nil:
		return nil, "", err
	case info.IsDir():
		return nil, "a linked folder is not read; put its files here", nil
	case !ours:
		return nil, "", nil
	case !info.Mode().IsRegular():
		return nil, "this is no regular file", nil
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = f.Close() }()
	data, err = io.ReadAll(io.LimitReader(f, maxFileSize+1))
	if len(data) > maxFileSize {
		return nil, fmt.Sprintf("the file has more than %d MiB; split it", maxFileSize>>20), nil
	}
	return append([]byte{}, data...), "", err
}
