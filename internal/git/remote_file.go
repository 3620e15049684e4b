package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/tidegate/tidegate/internal/gitops"
)

// fileRemote reads a repository on this machine's disk, in this process: its
// objects are copied, no program of the host runs and no hook can.
type fileRemote struct {
	identity string
	gitDir   string
}

func newFileRemote(root string, repository gitops.Repository) (*fileRemote, error) {
	e := &Error{Kind: KindURL, Repository: repository.Identity, Attempt: "open folder " + repository.Folder}
	if root == "" {
		e.Reason = "file:// repositories are not allowed; set git.fileRoot to a folder that holds them"
		return nil, e
	}
	folder, err := filepath.EvalSymlinks(repository.Folder)
	if err == nil && !isBelow(root, folder) || err != nil && !isBelow(root, repository.Folder) {
		e.Reason = "it is not below git.fileRoot, " + root
		return nil, e
	}
	if err == nil {
		for _, dir := range []string{folder, filepath.Join(folder, ".git")} {
			if isGitDir(dir) {
				return &fileRemote{identity: repository.Identity, gitDir: dir}, nil
			}
		}
	}
	e.Kind, e.Reason = KindRepository, "there is no Git repository in this folder"
	return nil, e
}

func isBelow(root, folder string) bool {
	rel, err := filepath.Rel(root, folder)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

func isGitDir(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// open reads the folder anew each time: its owner packs and prunes as he likes.
// ExclusiveAccess makes go-git list the objects once, for this one use; with it
// HasEncodedObject is wrong about packed objects, so that is not called.
func (r *fileRemote) open() *filesystem.Storage {
	return filesystem.NewStorageWithOptions(osfs.New(r.gitDir, osfs.WithBoundOS()), cache.NewObjectLRU(objectCache),
		filesystem.Options{ExclusiveAccess: true, MaxOpenDescriptors: maxOpenPacks})
}

func (r *fileRemote) list(ctx context.Context) (Refs, error) {
	store := r.open()
	defer func() { _ = store.Close() }() // it was read only
	refs := Refs{Repository: r.identity, Commits: map[string]string{}}
	all, err := store.IterReferences()
	if err != nil {
		return Refs{}, r.explain(ctx, "list refs", err)
	}
	err = all.ForEach(func(ref *plumbing.Reference) error {
		if ref.Type() != plumbing.HashReference {
			return ctx.Err()
		}
		commit, err := peel(store, ref)
		refs.Commits[ref.Name().String()] = commit.String()
		return errors.Join(err, ctx.Err())
	})
	if err != nil {
		return Refs{}, r.explain(ctx, "list refs", err)
	}
	r.addHead(store, &refs)
	return refs, nil
}

func (r *fileRemote) addHead(store *filesystem.Storage, refs *Refs) {
	head, err := store.Reference(plumbing.HEAD)
	if err != nil {
		return
	}
	refs.Default = "HEAD"
	if head.Type() == plumbing.HashReference {
		return
	}
	refs.Default = head.Target().String()
	if commit, ok := refs.Commits[refs.Default]; ok {
		refs.Commits["HEAD"] = commit
	}
}

// peel follows annotated tags to what they name.
func peel(store *filesystem.Storage, ref *plumbing.Reference) (plumbing.Hash, error) {
	hash := ref.Hash()
	for ref.Name().IsTag() {
		found, err := store.EncodedObject(plumbing.AnyObject, hash)
		if err != nil || found.Type() != plumbing.TagObject {
			return hash, err
		}
		tag, err := object.DecodeTag(store, found)
		if err != nil {
			return hash, err
		}
		hash = tag.Target
	}
	return hash, nil
}

func (r *fileRemote) fetch(ctx context.Context, into *filesystem.Storage, head Head) error {
	store := r.open()
	defer func() { _ = store.Close() }() // it was read only
	commit := plumbing.NewHash(head.Commit)
	if _, err := store.EncodedObject(plumbing.CommitObject, commit); err != nil {
		return &Error{
			Kind: KindRevision, Repository: r.identity, Attempt: "fetch " + head.Commit,
			Reason: "the repository does not have this commit (any more); use the branch's present one",
		}
	}
	if err := copyCommits(ctx, into, store, commit); err != nil {
		return r.explain(ctx, "fetch "+head.Commit, err)
	}
	return nil
}

func (r *fileRemote) explain(ctx context.Context, attempt string, err error) error {
	if ctx.Err() != nil {
		return interrupted(ctx, r.identity, attempt)
	}
	e := &Error{Kind: KindUnavailable, Repository: r.identity, Attempt: attempt, Err: err}
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		e.Reason = "objects are missing; a clone that borrows objects (--shared, --reference) or is partial cannot be read"
	}
	return e
}
