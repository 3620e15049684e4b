package git

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/tidegate/tidegate/internal/gitops"
)

// maxExportFiles bounds the number of files in one Export.
const maxExportFiles = 200_000

// exportTime is every file's time in a tar: the same tree gives the same bytes.
var exportTime = time.Unix(0, 0).UTC()

// Exported is what an Export wrote.
type Exported struct {
	Tree  string // the hash of the folder or file, as TreeHash returns it
	Files int    // files and symbolic links
	Bytes int64  // their content
	// Submodules are the paths that belong to other repositories. They are left
	// out, and whoever needs them should say so.
	Submodules []string
}

// Export writes a folder of a commit ("" or "." for all of it, or one file) as a
// tar: names relative to the folder and sorted, files only, modes 0644 or 0755,
// one fixed time; so the same tree is always the same bytes. Symbolic links stay
// what they are, and must lead to somewhere in the folder. Nothing is written
// when the folder is refused (KindContent: a link out of it, a name that no file
// can have, more than Options.ExportLimit) or not there (KindPath). On any error
// after that the tar is incomplete and must be thrown away.
func (m *Mirrors) Export(ctx context.Context, to io.Writer, url, commit, folder string) (Exported, error) {
	var done Exported
	out := &countingWriter{to: to}
	err := m.read(ctx, url, commit, func(repository gitops.Repository, repo *mirror, head Head) error {
		return repo.useAlone(func(store *filesystem.Storage) error {
			job := export{
				ctx: ctx, repository: repository, head: head, folder: folder, store: store, limit: m.options.ExportLimit,
			}
			err := job.run(out)
			done = job.done
			if err != nil && KindOf(err) == "" && out.count > 0 {
				// A second try would append to what was written.
				m.mirror(repository).forget()
				return &Error{Kind: KindUnavailable, Repository: repository.Identity, Attempt: "export " + head.Commit, Err: err}
			}
			return err
		})
	})
	return done, err
}

// export is one Export under way.
type export struct {
	ctx        context.Context
	repository gitops.Repository
	head       Head
	folder     string
	store      *filesystem.Storage
	limit      int64

	trees *trees
	items []item
	done  Exported
}

// item is one file of the tar.
type item struct {
	name string
	mode filemode.FileMode
	hash plumbing.Hash
	size int64
	link string // where a symbolic link leads
}

func (x *export) run(to io.Writer) error {
	var err error
	if x.trees, err = openTrees(x.store, plumbing.NewHash(x.head.Commit)); err != nil {
		return err
	}
	entry, err := x.trees.mustFind(x.repository, x.head, x.folder)
	if err != nil {
		return err
	}
	x.done.Tree = entry.Hash.String()
	if entry.Mode == filemode.Dir {
		err = x.collect("", entry.Hash)
	} else {
		err = x.add(path.Base(cleanPath(x.folder)), entry)
	}
	if err != nil {
		return err
	}
	slices.SortFunc(x.items, func(a, b item) int { return strings.Compare(a.name, b.name) })
	if err := x.checkLinks(); err != nil {
		return err
	}
	return x.write(to)
}

func (x *export) collect(dir string, hash plumbing.Hash) error {
	if err := x.ctx.Err(); err != nil {
		return err
	}
	tree, err := x.trees.folder(hash)
	if err != nil {
		return err
	}
	seen := make(map[string]bool, len(tree.Entries))
	for _, entry := range tree.Entries {
		name := path.Join(dir, entry.Name)
		if !isFileName(entry.Name) || seen[entry.Name] {
			return x.refuse(path.Join(dir, quoteShort(entry.Name)), "no file can have this name here; remove it from the repository")
		}
		seen[entry.Name] = true
		if entry.Mode == filemode.Dir {
			err = x.collect(name, entry.Hash)
		} else {
			err = x.add(name, entry)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (x *export) add(name string, entry object.TreeEntry) error {
	if entry.Mode == filemode.Submodule {
		x.done.Submodules = append(x.done.Submodules, name)
		return nil
	}
	size, err := x.store.EncodedObjectSize(entry.Hash)
	if err != nil {
		return fmt.Errorf("read file %s: %w", name, err)
	}
	x.items = append(x.items, item{name: name, mode: entry.Mode, hash: entry.Hash, size: size})
	x.done.Files, x.done.Bytes = x.done.Files+1, x.done.Bytes+size
	switch {
	case x.done.Bytes > x.limit:
		return x.refuse(name, fmt.Sprintf("with this file the folder is larger than %d bytes; use a smaller folder or raise git.exportLimit", x.limit))
	case x.done.Files > maxExportFiles:
		return x.refuse(name, fmt.Sprintf("with this file the folder has more than %d files; use a smaller folder", maxExportFiles))
	}
	return nil
}

func (x *export) write(to io.Writer) error {
	out := tar.NewWriter(to)
	for _, it := range x.items {
		if err := x.ctx.Err(); err != nil {
			return err
		}
		header := &tar.Header{Typeflag: tar.TypeReg, Name: it.name, Size: it.size, Mode: 0o644, ModTime: exportTime, Format: tar.FormatPAX}
		switch it.mode {
		case filemode.Symlink:
			header.Typeflag, header.Linkname, header.Size, header.Mode = tar.TypeSymlink, it.link, 0, 0o777
		case filemode.Executable:
			header.Mode = 0o755
		}
		if err := out.WriteHeader(header); err != nil {
			return fmt.Errorf("write %s: %w", it.name, err)
		}
		if it.mode == filemode.Symlink {
			continue
		}
		if err := x.writeContent(out, it); err != nil {
			return fmt.Errorf("write %s: %w", it.name, err)
		}
	}
	return out.Close()
}

func (x *export) writeContent(to io.Writer, it item) error {
	blob, err := x.store.EncodedObject(plumbing.BlobObject, it.hash)
	if err != nil {
		return err
	}
	return copyVerified(to, blob, it.hash)
}

func (x *export) refuse(name, reason string) *Error {
	return &Error{
		Kind: KindContent, Repository: x.repository.Identity,
		Attempt: "export " + path.Join(x.folder, name) + " of commit " + x.head.Commit, Reason: reason,
	}
}

// errWrite marks a failure of the reader's side, which no repair of ours cures.
var errWrite = errors.New("the reader of the tar stopped")

type countingWriter struct {
	to    io.Writer
	count int64
}

func (w *countingWriter) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	w.count += int64(n)
	if err != nil {
		w.count++ // even when nothing went out, a second try is no use
		err = fmt.Errorf("%w: %w", errWrite, err)
	}
	return n, err
}
