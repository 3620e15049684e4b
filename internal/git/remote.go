package git

import (
	"context"
	"errors"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/tidegate/tidegate/internal/gitops"
)

// errNotOffered is a remote's answer when it will not send a commit by any way
// that was tried.
var errNotOffered = errors.New("the server does not offer this commit; a branch or tag must reach it")

// remote is one repository's server.
type remote interface {
	// list asks for every ref, once.
	list(ctx context.Context) (Refs, error)
	// fetch adds the head's commit and everything below it to a mirror, without
	// what is there already. Only complete packs ever appear in the mirror.
	fetch(ctx context.Context, into *filesystem.Storage, head Head) error
}

// remote returns the way to speak to a repository.
func (m *Mirrors) remote(repository gitops.Repository) (remote, error) {
	switch repository.Scheme {
	case "http", "https":
		return newHTTPRemote(m, repository)
	case "ssh":
		return newSSHRemote(m, repository)
	case "file":
		return newFileRemote(m.options.FileRoot, repository)
	}
	return nil, &Error{
		Kind: KindURL, Repository: repository.Identity, Attempt: "connect to " + repository.Scheme + " URL",
		Reason: "only https, http, ssh and file are read; use the https URL, with a token in git.credentials if it is private",
	}
}

// newestShallow returns the commits that were fetched last, oldest first.
func newestShallow(store *filesystem.Storage, count int) []plumbing.Hash {
	commits, err := store.Shallow()
	if err != nil {
		return nil // an optimisation is lost, nothing else
	}
	return commits[max(0, len(commits)-count):]
}
