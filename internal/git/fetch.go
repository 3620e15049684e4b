package git

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/storage/filesystem"
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
	loc, head, err := m.target(url, head)
	if err != nil {
		return err
	}
	return m.ensure(ctx, loc, head)
}

// Has says whether a commit's files are in the mirror. It asks no server.
func (m *Mirrors) Has(_ context.Context, url, commit string) (bool, error) {
	loc, head, err := m.target(url, Head{Commit: commit})
	if err != nil {
		return false, err
	}
	return m.mirror(loc).has(plumbing.NewHash(head.Commit)), nil
}

func (m *Mirrors) target(url string, head Head) (location, Head, error) {
	loc, err := parseURL(url)
	if err != nil {
		return location{}, Head{}, err
	}
	pinned, ok := Pinned(head.Commit)
	if !ok {
		return location{}, Head{}, &Error{
			Kind: KindRevision, Repository: loc.identity, Attempt: "fetch " + quoteShort(head.Commit),
			Reason: "a commit is named by 40 hex digits; resolve the revision first",
		}
	}
	pinned.Ref = head.Ref
	return loc, pinned, nil
}

func (m *Mirrors) ensure(ctx context.Context, loc location, head Head) error {
	if m.mirror(loc).has(plumbing.NewHash(head.Commit)) {
		return nil
	}
	return m.share(ctx, "fetch", loc, head, m.fetch)
}

// share runs one piece of work for all who want it now. It outlives the caller
// who happened to be first.
func (m *Mirrors) share(
	ctx context.Context, verb string, loc location, head Head, work func(context.Context, location, Head) error,
) error {
	done := m.flights.DoChan(verb+" "+loc.identity+" "+head.Commit, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.options.FetchTimeout)
		defer cancel()
		mirror := m.mirror(loc)
		release, err := mirror.lock.take(ctx)
		if err != nil {
			return nil, unavailable(ctx, loc, "lock the mirror", err)
		}
		defer release()
		return nil, work(ctx, loc, head)
	})
	select {
	case result := <-done:
		return result.Err
	case <-ctx.Done():
		return interrupted(ctx, loc.identity, verb+" "+head.Commit)
	}
}

// fetch runs under the mirror's lock.
func (m *Mirrors) fetch(ctx context.Context, loc location, head Head) error {
	mirror := m.mirror(loc)
	mirror.forget() // another process, or the one before us, may have fetched it
	if mirror.has(plumbing.NewHash(head.Commit)) {
		return nil
	}
	if mirror.packs() >= m.options.MaxPacks {
		m.packAnew(ctx, mirror)
	}
	if err := m.receive(ctx, mirror, loc, head); err != nil {
		return err
	}
	if mirror.has(plumbing.NewHash(head.Commit)) {
		return nil
	}
	return m.fetchAnew(ctx, loc, head)
}

// fetchAnew throws the mirror away first. It runs under the mirror's lock.
func (m *Mirrors) fetchAnew(ctx context.Context, loc location, head Head) error {
	mirror := m.mirror(loc)
	if err := mirror.remove(); err != nil {
		return unavailable(ctx, loc, "replace the mirror", err)
	}
	if err := m.receive(ctx, mirror, loc, head); err != nil {
		return err
	}
	if !mirror.has(plumbing.NewHash(head.Commit)) {
		return &Error{
			Kind: KindDamaged, Repository: loc.identity, Attempt: "fetch " + head.Commit,
			Reason: "what the server sent is not a commit with its files; check the repository with git fsck",
		}
	}
	return nil
}

func (m *Mirrors) receive(ctx context.Context, mirror *mirror, loc location, head Head) error {
	from, err := m.remote(loc)
	if err != nil {
		return err
	}
	if err := create(mirror.dir); err != nil {
		return unavailable(ctx, loc, "fetch "+head.Commit, err)
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
func unavailable(ctx context.Context, loc location, attempt string, err error) *Error {
	if ctx.Err() != nil {
		return interrupted(ctx, loc.identity, attempt)
	}
	return &Error{Kind: KindUnavailable, Repository: loc.identity, Attempt: attempt, Err: err}
}

// isMachine says whether a read failed for a reason that no new fetch cures.
func isMachine(err error) bool {
	var path *fs.PathError
	return errors.As(err, &path) && !errors.Is(err, fs.ErrNotExist)
}
