// Package git reads repositories: what their refs point at, which files a
// commit holds, and whether a folder changed between two commits.
//
// A repository is known by its identity (NormalizeURL), whatever spelling of
// its URL the catalog or a webhook uses. Mirrors keeps one bare, shallow mirror
// per identity on disk: objects only, fetched one commit at a time, so that
// what a branch did meanwhile (a force-push, a deletion) never matters to
// somebody who holds a commit. A mirror is a cache: it may be deleted at any
// moment, and a damaged one is thrown away and fetched anew.
//
// The way through the package is the order of use:
//
//	url.go      a URL, its identity, what is dialled
//	refs.go     what a server advertises, and the commit that a revision names
//	mirrors.go  Mirrors: List, Resolve
//	fetch.go    Fetch, Has
//	tree.go     TreeHash, TreeHashes: what changed, in milliseconds
//	export.go   Export: a folder as a deterministic tar
//	error.go    the kinds of error that callers decide on
//
// remote_http.go (with thin.go) and remote_file.go speak to the two kinds of
// server; mirror.go, lock.go and pack.go keep the files. No process is started
// for any of it, and nothing of a repository is executed.
package git
