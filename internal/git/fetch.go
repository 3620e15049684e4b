package git

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/tidegate/tidegate/internal/gitops"
)

// keptCommits is how many of the newest commits survive when a mirror is packed
// anew; older ones are fetched again when somebody asks.
const keptCommits = 16

// maxNoted bounds the list of commits that a mirror remembers having fetched.
const maxNoted = 1000

// Fetch brings a commit's files into the mirror, without history, and costs
// nothing when they are there. The head's Ref is where to look when the server
// does not hand out a bare commit; it may be empty. Callers that want the same
// commit at the same time share one fetch, which goes on when one of them gives
// up.
func (m *Mirrors) Fetch(ctx context.Context, url string, head Head) error {
	repository, head, err := m.target(url, head)
	if err != nil {
		return err
	}
	return m.ensure(ctx, repository, head)
}

// Has says whether a commit's files are in the mirror. It asks no server.
func (m *Mirrors) Has(_ context.Context, url, commit string) (bool, error) {
	repository, head, err := m.target(url, Head{Commit: commit})
	if err != nil {
		return false, err
	}
	return m.mirror(repository).has(plumbing.NewHash(head.Commit)), nil
}

func (m *Mirrors) target(url string, head Head) (gitops.Repository, Head, error) {
	repository, err := parseURL(url)
	if err != nil {
		return gitops.Repository{}, Head{}, err
	}
	pinned, ok := Pinned(head.Commit)
	if !ok {
		return gitops.Repository{}, Head{}, &Error{
			Kind: KindRevision, Repository: repository.Identity, Attempt: "fetch " + quoteShort(head.Commit),
			Reason: "a commit is named by 40 hex digits; resolve the revision first",
		}
	}
	pinned.Ref = head.Ref
	return repository, pinned, nil
}

func (m *Mirrors) ensure(ctx context.Context, repository gitops.Repository, head Head) error {
	if m.mirror(repository).has(plumbing.NewHash(head.Commit)) {
		return nil
	}
	return m.share(ctx, "fetch", repository, head, m.fetch)
}

// share runs one piece of work for all who want it now. It outlives the caller
// who happened to be first.
func (m *Mirrors) share(
	ctx context.Context, verb string, repository gitops.Repository, head Head, work func(context.Context, gitops.Repository, Head) error,
) error {
	done := m.flights.DoChan(verb+" "+repository.Identity+" "+head.Commit, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.options.FetchTimeout)
		defer cancel()
		mirror := m.mirror(repository)
		release, err := mirror.lock.take(ctx)
		if err != nil {
			return nil, unavailable(ctx, repository, "lock the mirror", err)
		}
		defer release()
		return nil, work(ctx, repository, head)
	})
	select {
	case result := <-done:
		return result.Err
	case <-ctx.Done():
		return interrupted(ctx, repository.Identity, verb+" "+head.Commit)
	}
}

// fetch runs under the mirror's lock.
func (m *Mirrors) fetch(ctx context.Context, repository gitops.Repository, head Head) error {
	mirror := m.mirror(repository)
	mirror.forget() // another process, or the one before us, may have fetched it
	if mirror.has(plumbing.NewHash(head.Commit)) {
		return nil
	}
	if mirror.packs() >= m.options.MaxPacks {
		m.packAnew(ctx, mirror)
	}
	if err := m.receive(ctx, mirror, repository, head); err != nil {
		return err
	}
	if mirror.has(plumbing.NewHash(head.Commit)) {
		return nil
	}
	return m.fetchAnew(ctx, repository, head)
}

// fetchAnew throws the mirror away first. It runs under the mirror's lock.
func (m *Mirrors) fetchAnew(ctx context.Context, repository gitops.Repository, head Head) error {
	mirror := m.mirror(repository)
	if err := mirror.remove(); err != nil {
		return unavailable(ctx, repository, "replace the mirror", err)
	}
	if err := m.receive(ctx, mirror, repository, head); err != nil {
		return err
	}
	if !mirror.has(plumbing.NewHash(head.Commit)) {
		return &Error{
			Kind: KindDamaged, Repository: repository.Identity, Attempt: "fetch " + head.Commit,
			Reason: "what the server sent is not a commit with its files; check the repository with git fsck",
		}
	}
	return nil
}

func (m *Mirrors) receive(ctx context.Context, mirror *mirror, repository gitops.Repository, head Head) error {
	from, err := m.remote(repository)
	if err != nil {
		return err
	}
	if err := create(mirror.dir); err != nil {
		return unavailable(ctx, repository, "fetch "+head.Commit, err)
	}
	defer mirror.sweep()
	defer mirror.forget()
	store := openStore(mirror.dir)
	defer func() { _ = store.Close() }() // its packs are closed and in place
	if err := from.fetch(ctx, store, head); err != nil {
		return err
	}
	noteFetched(store, plumbing.NewHash(head.Commit))
	return nil
}

// noteFetched appends a commit to the mirror's shallow file: it tells git where
// history ends, and us what to mention to a server and what to keep. When it is
// lost the next fetch is bigger, no more.
func noteFetched(store *filesystem.Storage, commit plumbing.Hash) {
	fetched := newestShallow(store, maxNoted)
	for i, c := range fetched {
		if c == commit {
			fetched = append(fetched[:i:i], fetched[i+1:]...)
			break
		}
	}
	_ = store.SetShallow(append(fetched, commit))
}

// packAnew moves the newest commits to a fresh folder with a single pack. When
// they cannot be read the mirror starts from nothing, which costs one bigger
// fetch; while somebody exports from it, it stays as it is until the next fetch.
// It runs under the mirror's lock.
func (m *Mirrors) packAnew(ctx context.Context, mirror *mirror) {
	if !mirror.folder.TryLock() {
		return
	}
	defer mirror.folder.Unlock()
	defer mirror.forget()
	fresh := mirror.dir + ".new"
	defer func() { _ = os.RemoveAll(fresh) }()
	if err := copyNewest(ctx, fresh, mirror.dir); err != nil {
		_ = mirror.swap("")
		return
	}
	_ = mirror.swap(fresh)
}

func copyNewest(ctx context.Context, fresh, old string) error {
	if err := errors.Join(os.RemoveAll(fresh), create(fresh)); err != nil {
		return err
	}
	from, into := openStore(old), openStore(fresh)
	defer func() { _, _ = from.Close(), into.Close() }()
	commits := newestShallow(from, keptCommits)
	if err := copyCommits(ctx, into, from, commits...); err != nil {
		return err
	}
	return into.SetShallow(commits)
}

// unavailable describes a failure of this machine: its disk, its limits.
func unavailable(ctx context.Context, repository gitops.Repository, attempt string, err error) *Error {
	if ctx.Err() != nil {
		return interrupted(ctx, repository.Identity, attempt)
	}
	return &Error{Kind: KindUnavailable, Repository: repository.Identity, Attempt: attempt, Err: err}
}

// isMachine says whether a read failed for a reason that no new fetch cures.
func isMachine(err error) bool {
	var path *fs.PathError
	return errors.As(err, &path) && !errors.Is(err, fs.ErrNotExist)
}
