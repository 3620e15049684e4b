package gittest

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
)

// Push is one ref that a push moved. Old and New are commits (or tag objects);
// Old is empty for a new ref, New for a deleted one.
type Push struct {
	Repo     *Repo
	Ref      string
	Old, New string
}

// Push pushes a branch of the work tree over HTTP.
func (r *Repo) Push(branch string) {
	r.server.t.Helper()
	r.Git("push", "-q", r.pushURL(), "refs/heads/"+branch+":refs/heads/"+branch)
}

// CommitAndPush commits the work tree, pushes its branch and returns the commit.
func (r *Repo) CommitAndPush(message string) string {
	r.server.t.Helper()
	commit := r.Commit(message)
	r.Push(r.Git("symbolic-ref", "--short", "HEAD"))
	return commit
}

// ForcePush makes a branch on the server point to any commit of the work tree.
func (r *Repo) ForcePush(branch, commit string) {
	r.server.t.Helper()
	r.Git("push", "-q", "--force", r.pushURL(), commit+":refs/heads/"+branch)
}

// Tag tags the present commit and pushes the tag.
func (r *Repo) Tag(name string) {
	r.server.t.Helper()
	r.Git("tag", "-f", name)
	r.pushTag(name)
}

// AnnotatedTag is Tag with a tag object that has a message of its own.
func (r *Repo) AnnotatedTag(name, message string) {
	r.server.t.Helper()
	r.Git("tag", "-f", "-a", "-m", message, name)
	r.pushTag(name)
}

func (r *Repo) pushTag(name string) { r.Git("push", "-q", "--force", r.pushURL(), "refs/tags/"+name) }

// DeleteBranch deletes a branch on the server.
func (r *Repo) DeleteBranch(name string) { r.Git("push", "-q", r.pushURL(), ":refs/heads/"+name) }

// DeleteTag deletes a tag on the server.
func (r *Repo) DeleteTag(name string) { r.Git("push", "-q", r.pushURL(), ":refs/tags/"+name) }

// OnPush calls a function for each ref that a push over HTTP has moved, before
// the pusher gets its answer, as a forge's webhook would: after the ref moved.
func (r *Repo) OnPush(call func(Push)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.onPush = append(r.onPush, call)
}

// Hook installs a hook script of the server's repository, such as post-receive.
func (r *Repo) Hook(name, script string) {
	r.server.t.Helper()
	file := filepath.Join(r.Dir, "hooks", name)
	require.NoError(r.server.t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(r.server.t, os.WriteFile(file, []byte(script), 0o755))
}

// aroundPush runs a request and reports the refs that it moved, when it is a push.
func (r *Repo) aroundPush(request *http.Request, serve func()) {
	r.mu.Lock()
	calls := slices.Clone(r.onPush)
	r.mu.Unlock()
	if len(calls) == 0 || !strings.HasSuffix(request.URL.Path, "/git-receive-pack") {
		serve()
		return
	}
	before := r.refs()
	serve()
	after := r.refs()
	for ref := range before {
		if _, still := after[ref]; !still {
			after[ref] = ""
		}
	}
	for ref, now := range after {
		if before[ref] == now {
			continue
		}
		for _, call := range calls {
			call(Push{Repo: r, Ref: ref, Old: before[ref], New: now})
		}
	}
}

func (r *Repo) refs() map[string]string {
	refs := map[string]string{}
	out, err := run(r.server.t.Context(), r.Dir, nil, "for-each-ref", "--format=%(objectname) %(refname)")
	if err != nil {
		r.server.t.Errorf("list refs of %s: %v", r.Name, err)
	}
	for line := range strings.Lines(out) {
		if hash, name, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			refs[name] = hash
		}
	}
	return refs
}
